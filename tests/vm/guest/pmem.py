"""Inside a machine: makes parts of its NVDIMM usable.

  pmem.py fsdax FOLDER [MB]   a file system, mounted with DAX on FOLDER;
                              without a size on all of the NVDIMM
  pmem.py devdax MB NAME...   character devices, which DEVICES/NAME lead to
  pmem.py clear NAME...       gives up what nodes had on those devices

The first two print what is there then. What was there before, from before a
loss of power, is found by its name and used as it is.
"""

import json
import mmap
import os
import subprocess
import sys

DEVICES = "/tmp/vm/dax"
FILES = "files"  # name of the file system's part
DIRECTORY = 2 << 20  # with it goes all else; docs/formats/device.md


def call(*words):
  done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                        text=True, check=False)
  if done.returncode != 0:
    sys.exit(f"pmem: {' '.join(words)}: exit {done.returncode}: "
             f"{done.stderr.strip()}")
  return done.stdout


def ndctl(*words):
  """A list, which ndctl leaves away when there is nothing to be listed."""
  return json.loads(call("ndctl", *words) or "[]")


def label():
  """A new NVDIMM is one piece, which cannot be divided or have a name."""
  if any(label["index"][0]["nslot"] == 0
         for label in ndctl("read-labels", "-j", "all")):
    call("ndctl", "disable-region", "all")
    call("ndctl", "init-labels", "all")
    call("ndctl", "enable-region", "all")


def part(name, mode, size=()):
  """The part of that name, made when it is not there."""
  def find():
    found = [n for n in ndctl("list", "-N") if n.get("name") == name]
    return found[0] if found else None
  if find() is None:
    # Descriptions of pages in the machine's memory: it is all for data.
    call("ndctl", "create-namespace", f"--name={name}", f"--mode={mode}",
         "--map=mem", *size)
  return find()


def size_of(megabytes):
  return [f"--size={megabytes}M"]


def fsdax(folder, *megabytes):
  found = part(FILES, "fsdax", size_of(*megabytes) if megabytes else [])
  device = f"/dev/{found['blockdev']}"
  if subprocess.run(["blkid", device], stdout=subprocess.DEVNULL,
                    check=False).returncode != 0:
    call("mkfs.ext4", "-q", "-b", "4096", device)
  os.makedirs(folder, exist_ok=True)
  call("mount", "-t", "ext4", "-o", "dax=always", device, folder)
  with open("/proc/mounts", encoding="ascii") as f:
    print("".join(line for line in f if line.startswith(f"{device} ")))


def devdax(megabytes, *names):
  os.makedirs(DEVICES, exist_ok=True)
  for name in names:
    found = part(name, "devdax", size_of(megabytes))
    device = f"/dev/{found['chardev']}"
    os.symlink(device, os.path.join(DEVICES, name))
    print(f"{name} is {device}, {found['size'] >> 20} MiB in pages of "
          f"{found['align'] >> 10} KiB")


def clear(*names):
  for name in names:
    with open(os.path.join(DEVICES, name), "r+b") as device:
      with mmap.mmap(device.fileno(), DIRECTORY) as directory:
        directory[:] = bytes(DIRECTORY)


def main():
  label()
  {"fsdax": fsdax, "devdax": devdax, "clear": clear}[sys.argv[1]](
      *sys.argv[2:])


if __name__ == "__main__":
  main()
