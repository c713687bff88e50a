#!/bin/sh
# The network between machines:
#   network.sh ADDRESS/BITS   gives it an address
set -eu
ip address add "$1" dev eth0
ip link set eth0 up
