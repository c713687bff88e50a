#!/bin/sh
# Gives the network between machines an address: network.sh ADDRESS/BITS
set -eu
ip address add "$1" dev eth0
ip link set eth0 up
