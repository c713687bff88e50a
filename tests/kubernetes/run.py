#!/usr/bin/env python3
"""Tests the Helm chart on real Kubernetes, in namespaces of this machine.

Part chart: a real API server, controllers and scheduler, with machines that
only say they run pods. Part pods: a real kubelet with real pods. As root.
"""

import argparse
import os
import subprocess
import sys

import programs

HERE = os.path.dirname(os.path.realpath(__file__))
PARTS = ("chart", "pods")


def main():
  parser = argparse.ArgumentParser(
      description=__doc__,
      formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--only", choices=PARTS)
  parser.add_argument("tests", nargs="*", help="of unittest, such as "
                      "PodsTest.test_life")
  arguments = parser.parse_args()
  if os.geteuid() != 0:
    print("kubernetes: needs root, for namespaces", file=sys.stderr)
    return 1
  try:
    folder = programs.folder(lambda line: print(line, flush=True))
  except programs.BuildError as error:
    print(f"kubernetes: {error}", file=sys.stderr)
    return 1
  failed = []
  for part in [arguments.only] if arguments.only else PARTS:
    print(f"--- {part}", flush=True)
    # A network and mounts of its own; all ends with the first process there.
    done = subprocess.run(
        ["unshare", "--net", "--mount", "--uts", "--propagation=private",
         "--pid", "--fork", "--kill-child", "--mount-proc", "sh",
         "-c", 'ip link set lo up && exec "$@"', "sh", sys.executable, "-B",
         os.path.join(HERE, f"{part}_test.py"), *arguments.tests],
        env={**os.environ, "KAMINO_KUBERNETES": folder}, check=False)
    if done.returncode != 0:
      failed.append(part)
  print(f"{len(failed)} failed" if failed else "all passed")
  return 1 if failed else 0


if __name__ == "__main__":
  sys.exit(main())
