#!/bin/sh
# The network between machines:
#   network.sh ADDRESS/BITS   gives it an address
#   network.sh again          takes it down and up again
set -eu
ip -s link show eth0
if [ "$1" = again ]; then
  ip link set eth0 down
else
  ip address add "$1" dev eth0
fi
ip link set eth0 up
