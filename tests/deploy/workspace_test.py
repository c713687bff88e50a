"""An application in a workspace of its own builds on Kamino's tree.

As a test: that all it needs is found and analyzed, and that code is made of
what the client's messages are. With --build: the whole program, which runs.
"""

import argparse
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.realpath(__file__))))
EXAMPLE = os.path.join(ROOT, "client", "examples", "workspace")


def bazel(base, *words):
  """Runs a Bazel that leaves nothing behind, here and in the machine."""
  command = ["bazel", "--batch", f"--output_base={base}", words[0],
             "--symlink_prefix=/", "--noshow_progress", *words[1:]]
  done = subprocess.run(command, cwd=EXAMPLE, stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT, text=True, check=False,
                        env={"HOME": base, **os.environ})
  if done.returncode != 0:
    sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}")


def main():
  parser = argparse.ArgumentParser(
      description=__doc__,
      formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--build", action="store_true")
  build = parser.parse_args().build
  with tempfile.TemporaryDirectory(prefix="kamino-test-") as base:
    try:
      if build:
        bazel(base, "build", "//:greeting")
        program = os.path.join(
            base, "execroot", "greeting", "bazel-out", "k8-fastbuild", "bin",
            "greeting")
        done = subprocess.run([program], stderr=subprocess.PIPE, text=True,
                              check=False)
        if "usage: greeting" not in done.stderr:
          sys.exit(f"{program}: exit {done.returncode}, {done.stderr}")
      else:
        bazel(base, "build", "--nobuild", "//:greeting")
        bazel(base, "build", "@kamino//proto:member")
    finally:
      # Bazel makes folders that nobody may write in.
      subprocess.run(["chmod", "-R", "u+w", base], check=False)


if __name__ == "__main__":
  main()
