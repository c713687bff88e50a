#!/usr/bin/env python3
"""Chaos on real processes: faults of every kind, and a verdict on what clients
saw. Exits with 1 on any violation and keeps the histories then.

  chaos.py run --minutes=2 --seed=1
  chaos.py check FOLDER      checks kept histories again
  chaos.py faults            lists the faults and what the product supports
"""

import argparse
import collections
import os
import random
import shutil
import signal
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "..", "deploy", "local"))
# pylint: disable=wrong-import-position
import checkers
import faults
from binaries import Binaries
from chaos_round import Round, check_histories
from local_cluster import default_parent
from network import NetworkError, check_possible
from processes import ClusterError
from schedule import Schedule

ROUND_S = 15.0  # a round shorter than that shows nothing
CLIENT = "tests/chaos/client/chaos_client"


def say(text):
  print(text, flush=True)


def client_program(binaries):
  path = os.path.join(binaries.root, CLIENT)
  if not os.access(path, os.X_OK):
    raise ClusterError(f"chaos_client is not in {binaries.root}; run make "
                       f"chaos")
  return path


def table(verdicts):
  """Lines: what was injected and survived, by kind."""
  rows = collections.OrderedDict()
  for injected in (i for v in verdicts for i in v.injected):
    row = rows.setdefault(injected.name, [0, 0, 0, 0.0])
    if injected.skipped:
      row[2] += 1
      continue
    row[0] += 1
    row[1] += injected.survived
    row[3] = max(row[3], injected.gap_s)
  lines = [f"{'fault':24} {'injected':>8} {'survived':>8} {'skipped':>8} "
           f"{'longest unavailability':>23}"]
  for name, (count, survived, skipped, gap) in sorted(rows.items()):
    lines.append(f"{name:24} {count:8} {survived:8} {skipped:8} "
                 f"{gap:21.2f} s")
  return lines


def summary(verdicts, seed):
  injected = [i for v in verdicts for i in v.injected if not i.skipped]
  operations = sum(r["operations"] for v in verdicts
                   for r in v.reports.values())
  unknown = sum(r["unknown"] for v in verdicts for r in v.reports.values())
  problems = sum(len(v.problems) for v in verdicts)
  gap = max((v.longest_gap_s for v in verdicts), default=0.0)
  return (f"chaos: seed {seed}, {len(verdicts)} rounds, {len(injected)} "
          f"faults, {sum(i.survived for i in injected)} survived; "
          f"{operations} operations checked ({unknown} of unknown outcome), "
          f"longest unavailability {gap:.2f} s; {problems} violations")


def run(arguments):
  check_possible()
  for language in checkers.PROGRAMS:
    checkers.program(language)
  binaries = Binaries()
  client = client_program(binaries)
  seed = arguments.seed
  if seed is None:
    seed = random.SystemRandom().randrange(1 << 32)
  out = arguments.out or tempfile.mkdtemp(prefix="kamino-chaos-")
  say(f"seed {seed}; histories in {out}")
  schedule = Schedule(seed, chosen_faults(arguments.only))
  deadline = time.monotonic() + 60 * arguments.minutes
  verdicts = []
  while not verdicts or time.monotonic() < deadline - ROUND_S:
    number = len(verdicts) + 1
    say(f"round {number}")
    folder = tempfile.mkdtemp(prefix="kamino-chaos-", dir=default_parent())
    try:
      verdict = Round(binaries, client, os.path.join(folder, "c"),
                      os.path.join(out, f"round{number}"), arguments,
                      say).run(schedule.next_round(), deadline)
    finally:
      shutil.rmtree(folder, ignore_errors=True)
    verdicts.append(verdict)
    for workload, report in verdict.reports.items():
      say(f"  {workload}: {report}")
    for problem in verdict.problems:
      say(f"  VIOLATION: {problem}")
    if verdict.problems:
      break
  return conclude(arguments, verdicts, seed, out)


def conclude(arguments, verdicts, seed, out):
  bad = any(v.problems for v in verdicts)
  say("\n".join(table(verdicts)))
  if bad:
    say(f"kept: {out}; chaos.py check {out}/round{len(verdicts)} checks it "
        f"again")
  elif not arguments.keep:
    shutil.rmtree(out, ignore_errors=True)
  say(summary(verdicts, seed))
  return 1 if bad else 0


def chosen_faults(only):
  kinds = faults.usable()
  if not only:
    return kinds
  names = only.split(",")
  unknown = set(names) - {k.name.replace(",", "") for k in kinds}
  if unknown:
    raise ClusterError(f"no such fault, or not supported now: "
                       f"{', '.join(sorted(unknown))}; see chaos.py faults")
  return [k for k in kinds if k.name.replace(",", "") in names]


def check(arguments):
  reports, problems = check_histories(arguments.folder)
  for workload, report in reports.items():
    say(f"{workload}: {report}")
  for problem in problems:
    say(f"VIOLATION: {problem}")
  operations = sum(r["operations"] for r in reports.values())
  say(f"check: {operations} operations, {len(problems)} violations")
  return 1 if problems else 0


def list_faults(arguments):
  del arguments
  usable = faults.usable()
  for fault in faults.FAULTS:
    state = "yes" if fault in usable else "not yet"
    say(f"{fault.name.replace(',', ''):24} {state}")
  return 0


def parse():
  parser = argparse.ArgumentParser(
      description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
  commands = parser.add_subparsers(dest="command", required=True)
  go = commands.add_parser("run", help="inject faults and judge")
  go.add_argument("--minutes", type=float, default=2)
  go.add_argument("--seed", type=int, help="default: a random one")
  go.add_argument("--only", help="faults by name, comma-separated")
  go.add_argument("--out", help="folder for histories (default: a new one)")
  go.add_argument("--keep", action="store_true",
                  help="keep the histories of a good run, too")
  go.add_argument("--rate", type=float, default=45,
                  help="calls a second of each of 18 logical clients")
  go.add_argument("--failure_timeout_ms", type=int, default=1000)
  go.set_defaults(run=run)
  again = commands.add_parser("check", help="check kept histories again")
  again.add_argument("folder", help="of one round")
  again.set_defaults(run=check)
  commands.add_parser("faults", help="list the faults").set_defaults(
      run=list_faults)
  return parser.parse_args()


def main():
  for deadly in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(deadly, signal.default_int_handler)
  arguments = parse()
  try:
    return arguments.run(arguments)
  except (ClusterError, NetworkError, checkers.CheckError) as error:
    print(f"chaos: {error}", file=sys.stderr)
    return 2
  except KeyboardInterrupt:
    print("chaos: interrupted", file=sys.stderr)
    return 130


if __name__ == "__main__":
  sys.exit(main())
