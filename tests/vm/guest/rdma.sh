#!/bin/sh
# Makes the soft-RoCE device rxe0. On an interface that is named (of a network
# between machines), or on a pair of virtual ones. Prints the device's state.
set -eu
interface=${1:-}
if [ -z "$interface" ]; then
  ip link add v0 type veth peer name v1
  ip addr add 10.8.0.1/24 dev v0
  ip link set v1 up
  interface=v0
fi
ip link set "$interface" up
rdma link add rxe0 type rxe netdev "$interface"
rdma link show rxe0/1
