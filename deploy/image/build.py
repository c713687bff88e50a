#!/usr/bin/env python3
"""Writes the image of Kamino's programs as an OCI archive.

It has the node, the manager and the command line, the libraries that these need
from the machine that built them, and nothing else: no shell, no packages. It
runs as a user without rights.
"""

import argparse
import glob
import os
import re
import subprocess
import sys

from oci import Layer, write_image

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.realpath(__file__))))
PROGRAMS = ("client/cli/kamino", "membership/kamino_manager",
            "node/kamino_node", "node/check/kamino_check")
USER = 64000  # no user on any machine; the chart's fsGroup is the same
LOADER = "lib64/ld-linux-x86-64.so.2"
LIBRARIES = "usr/lib/x86_64-linux-gnu"
# RDMA devices' drivers, which libibverbs loads by these lists.
DRIVERS = "/usr/lib/x86_64-linux-gnu/libibverbs/*.so"
DRIVER_LISTS = "/etc/libibverbs.d/*.driver"


def needed(path):
  """Libraries that a program or library loads: name to file."""
  done = subprocess.run(["ldd", path], stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT, text=True, check=True)
  missing = re.findall(r"(\S+) => not found", done.stdout)
  if missing:
    raise FileNotFoundError(f"{path} needs {', '.join(missing)}")
  return dict(re.findall(r"(\S+) => (/\S+)", done.stdout))


def libraries(programs):
  layer = Layer()
  # As Debian has it: one folder, and names from before there was one.
  for name in ("lib", "lib64", "bin", "sbin"):
    layer.link(name, f"usr/{name}")
  drivers = sorted(glob.glob(DRIVERS))
  found = {}
  for path in (*programs, *drivers):
    found.update(needed(path))
  for name, path in found.items():
    layer.file(f"{LIBRARIES}/{name}", path)
  layer.file(f"usr/{LOADER}", f"/{LOADER}")
  for path in drivers:
    layer.file(f"{LIBRARIES}/libibverbs/{os.path.basename(path)}", path)
  for path in sorted(glob.glob(DRIVER_LISTS)):
    layer.file(path[1:], path)
  layer.text("etc/nsswitch.conf", "hosts: files dns\n")
  layer.text("etc/passwd",
             "root:x:0:0::/:/bin/false\n"
             f"kamino:x:{USER}:{USER}::/var/lib/kamino:/bin/false\n")
  layer.text("etc/group", f"root:x:0:\nkamino:x:{USER}:\n")
  layer.folder("tmp", mode=0o1777)
  layer.folder("var/lib/kamino", mode=0o750, owner=USER)
  return layer


def stripped(path, folder):
  """A copy without symbols: those are in the build and in -dbgsym packages."""
  target = os.path.join(folder, os.path.basename(path))
  subprocess.run(["strip", "--strip-unneeded", "-o", target, path], check=True)
  return target


def version():
  with open(os.path.join(ROOT, "proto", "version.h"), encoding="utf-8") as f:
    return re.search(r'kVersion\[\] = "([^"]+)"', f.read()).group(1)


def build(binaries, output, name):
  """Writes the archive; returns the image's digest."""
  scratch = output + ".programs"
  os.makedirs(scratch, exist_ok=True)
  programs = [stripped(os.path.join(binaries, p), scratch) for p in PROGRAMS]
  own = Layer()
  for path in programs:
    own.file(f"usr/bin/{os.path.basename(path)}", path)
  digest = write_image(output, name, [libraries(programs), own], {
      "User": f"{USER}:{USER}", "WorkingDir": "/var/lib/kamino",
      "Env": ["PATH=/usr/bin"], "Cmd": ["/usr/bin/kamino", "--help"],
      "Labels": {"org.opencontainers.image.licenses": "Apache-2.0",
                 "org.opencontainers.image.title": "kamino",
                 "org.opencontainers.image.version": version()},
  })
  for path in programs:
    os.unlink(path)
  os.rmdir(scratch)
  return digest


def main():
  parser = argparse.ArgumentParser(
      description=__doc__,
      formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--binaries", default=os.path.join(ROOT, "bazel-bin"),
                      help="folder of the programs that were built")
  parser.add_argument("--output", default=os.path.join(
      ROOT, "deploy", "out", "kamino-image.tar"))
  parser.add_argument("--name", default=f"localhost/kamino:{version()}",
                      help="repository:tag of the image")
  arguments = parser.parse_args()
  os.makedirs(os.path.dirname(os.path.abspath(arguments.output)),
              exist_ok=True)
  try:
    digest = build(arguments.binaries, arguments.output, arguments.name)
  except (OSError, subprocess.CalledProcessError) as error:
    print(f"deploy/image/build.py: {error}", file=sys.stderr)
    return 1
  print(f"{arguments.output}: {arguments.name}, {digest}, "
        f"{os.path.getsize(arguments.output) >> 20} MiB")
  return 0


if __name__ == "__main__":
  sys.exit(main())
