#!/bin/sh
# Makes the machine's NVDIMM usable:
#   pmem.sh fsdax FOLDER   a file system on it, mounted with DAX
#   pmem.sh devdax         a character device; prints its path
# What is there already, from before a loss of power, is used as it is.
set -eu
mode=$1
# Descriptions of pages in the machine's memory: the whole NVDIMM is for data.
if ! ndctl list -N | grep -q "\"mode\":\"$mode\""; then
  align=
  [ "$mode" = fsdax ] || align=--align=4k
  ndctl create-namespace -f -e namespace0.0 -m "$mode" --map=mem $align \
    >/dev/null
fi
if [ "$mode" = devdax ]; then
  ls /dev/dax*
  exit
fi
device=/dev/pmem0
if ! blkid "$device" >/dev/null; then
  mkfs.ext4 -q -b 4096 "$device"
fi
mkdir -p "$2"
mount -t ext4 -o dax=always "$device" "$2"
grep "^$device " /proc/mounts
