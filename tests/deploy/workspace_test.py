"""Applications in workspaces of their own build on Kamino's tree.

As a test: that all it needs is found and analyzed, and that code is made of
what the client's messages are. With --build: the whole programs, which run.
"""

import argparse
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.realpath(__file__))))
# The folder, the program that it makes, and what that says without arguments.
CLIENT = (os.path.join(ROOT, "client", "examples", "workspace"), "greeting",
          "usage: greeting")
ENGINE = (os.path.join(ROOT, "engine", "examples", "workspace"), "ledger",
          "usage: ledger")
NODE = (os.path.join(ROOT, "examples", "workspace"), "greeter",
        "kamino_node: --cluster_id")


def bazel(base, folder, *words):
  """Runs a Bazel that leaves nothing behind, here and in the machine."""
  command = ["bazel", "--batch", f"--output_base={base}", words[0],
             "--symlink_prefix=/", "--noshow_progress", *words[1:]]
  done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT, text=True, check=False,
                        env={"HOME": base, **os.environ})
  if done.returncode != 0:
    sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}")


def check_runs(program, says):
  done = subprocess.run([program], stderr=subprocess.PIPE, text=True,
                        check=False)
  if says not in done.stderr:
    sys.exit(f"{program}: exit {done.returncode}, {done.stderr}")


def main():
  parser = argparse.ArgumentParser(
      description=__doc__,
      formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--build", action="store_true")
  build = parser.parse_args().build
  for folder, program, says in (CLIENT, ENGINE, NODE):
    with tempfile.TemporaryDirectory(prefix="kamino-test-") as base:
      try:
        if build:
          bazel(base, folder, "build", f"//:{program}")
          check_runs(os.path.join(base, "execroot", program, "bazel-out",
                                  "k8-fastbuild", "bin", program), says)
        else:
          bazel(base, folder, "build", "--nobuild", f"//:{program}")
          if folder == CLIENT[0]:
            bazel(base, folder, "build", "@kamino//proto:member")
      finally:
        # Bazel makes folders that are not writable.
        subprocess.run(["chmod", "-R", "u+w", base], check=False)


if __name__ == "__main__":
  main()
