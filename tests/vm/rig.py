"""Tests Kamino in virtual machines: soft-RoCE, NVDIMMs, loss of power.

Exits with 0 if all parts succeed, with 1 otherwise. The consoles of the
machines are kept after a failure. Where machines cannot run, it says so on a
line that begins with NOT RUN; with --may_not_run that is no failure.
"""

import argparse
import os
import shutil
import signal
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "deploy", "local"))
# pylint: disable=wrong-import-position
from binaries import Binaries
from image import CannotRun, Image
from machine import GUEST, check_host
from pair import PairOfVms
from report import Report
from single import SingleVm

MEMORY_MB = {"single": 3584, "pair": 3072}  # NVDIMMs included
CONSOLE_TAIL = 60  # lines shown of each after a failure


def parse():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--only", choices=sorted(MEMORY_MB),
                      help="only the parts that need so many machines")
  parser.add_argument("--out", default=os.environ.get(
      "TEST_UNDECLARED_OUTPUTS_DIR") or os.path.join(HERE, "out"),
                      help="folder for the consoles of a run that failed")
  parser.add_argument("--brief", action="store_true",
                      help="fewer rounds and parts")
  parser.add_argument("--may_not_run", action="store_true")
  return parser.parse_args()


def keep_consoles(folder, out):
  os.makedirs(out, exist_ok=True)
  for name in sorted(os.listdir(folder)):
    if name.endswith(".console"):
      path = shutil.copy(os.path.join(folder, name), out)
      print(f"--- the end of {path}")
      with open(path, encoding="utf-8", errors="replace") as f:
        print("".join(f.readlines()[-CONSOLE_TAIL:]))


def run(arguments, folder):
  """Returns the exit code."""
  began = time.monotonic()
  report = Report()
  chosen = [arguments.only] if arguments.only else ["single", "pair"]
  check_host(max(MEMORY_MB[name] for name in chosen))
  image = Image(folder, os.path.join(GUEST, "init"))
  programs = Binaries().root
  complete = False
  try:
    if "single" in chosen:
      SingleVm(folder, image, programs, report, arguments.brief).run()
    if "pair" in chosen:
      PairOfVms(folder, image, programs, report).run()
    complete = True
  finally:
    if report.failed or not complete:
      keep_consoles(folder, arguments.out)
    print(f"\n{report.table()}\n{time.monotonic() - began:.0f} s", flush=True)
  return 1 if report.failed else 0


def main():
  for number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.default_int_handler)
  arguments = parse()
  with tempfile.TemporaryDirectory(prefix="kamino-vm-") as folder:
    try:
      return run(arguments, folder)
    except CannotRun as error:
      print(f"NOT RUN: {error}", flush=True)
      return 0 if arguments.may_not_run else 1
    except KeyboardInterrupt:
      print("rig: interrupted", file=sys.stderr)
      return 130


if __name__ == "__main__":
  sys.exit(main())
