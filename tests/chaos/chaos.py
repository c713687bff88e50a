#!/usr/bin/env python3
"""Chaos on real processes: faults of every kind, and a verdict on what clients
saw. Exits with 1 on any violation and keeps the histories then.

  chaos.py run --minutes=2 --seed=1
  chaos.py check FOLDER      checks kept histories again
  chaos.py faults            lists the faults and what the product supports
"""

import argparse
import collections
import json
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
from chaos_cluster import MODES
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


def rows_of(verdicts, missing):
  """By kind: the injected faults, and their outcomes."""
  rows = collections.OrderedDict()
  def row_of(name):
    return rows.setdefault(name, {
        "injected": 0, "survived": 0, "skipped": 0, "not_run": "",
        "no_write_s": 0.0, "no_read_s": 0.0, "no_write_with_others_s": 0.0,
        "no_read_with_others_s": 0.0})
  for injected in (i for v in verdicts for i in v.injected):
    row = row_of(injected.name)
    if injected.skipped:
      row["skipped"] += 1
      continue
    row["injected"] += 1
    row["survived"] += injected.survived
    which = "_with_others" if injected.company else ""
    for gap, seconds in ((f"no_write{which}_s", injected.gap_s),
                         (f"no_read{which}_s", injected.read_gap_s)):
      row[gap] = max(row[gap], seconds)
  for name, why in missing.items():
    row_of(name)["not_run"] = why
  return dict(sorted(rows.items()))


def never_injected(verdicts):
  """Kinds that could not be injected in any of their turns, not even in one by
  themselves: name to why."""
  injected = [i for v in verdicts for i in v.injected]
  came = {i.name for i in injected if not i.skipped}
  return {i.name: i.skipped for i in injected
          if i.skipped and i.again and i.name not in came}


def table(rows):
  """Lines: what was injected and survived, by kind; the longest times without
  an answer, of a fault alone and of one with others."""
  lines = [f"{'fault':34} {'injected':>8} {'survived':>8} {'skipped':>7} "
           f"{'no write for':>12} {'no read for':>12} {'with others':>18}"]
  for name, row in rows.items():
    if row["not_run"]:
      lines.append(f"{name:34} not run: {row['not_run']}")
      continue
    lines.append(f"{name:34} {row['injected']:8} {row['survived']:8} "
                 f"{row['skipped']:7} {row['no_write_s']:10.2f} s "
                 f"{row['no_read_s']:10.2f} s "
                 f"{row['no_write_with_others_s']:7.2f} "
                 f"{row['no_read_with_others_s']:8.2f} s")
  return lines


def counts(verdicts, missing):
  injected = [i for v in verdicts for i in v.injected if not i.skipped]
  reports = [r for v in verdicts for r in v.reports.values()]
  return {
      "rounds": len(verdicts), "faults": len(injected),
      "survived": sum(i.survived for i in injected), "not_run": len(missing),
      "operations": sum(r["operations"] for r in reports),
      "unknown": sum(r["unknown"] for r in reports),
      "longest_unavailability_s": max((v.longest_gap_s for v in verdicts),
                                      default=0.0),
      "violations": (sum(len(v.problems) for v in verdicts) +
                     len(never_injected(verdicts)))}


def summary(verdicts, seed, missing, mode):
  of = counts(verdicts, missing)
  return (f"chaos: mode {mode}, seed {seed}, {of['rounds']} rounds, "
          f"{of['faults']} faults, {of['survived']} survived, "
          f"{of['not_run']} kinds not run; "
          f"{of['operations']} operations checked ({of['unknown']} of unknown "
          f"outcome), longest unavailability "
          f"{of['longest_unavailability_s']:.2f} s; {of['violations']} "
          f"violations")


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
  kinds = chosen_faults(arguments.only)
  missing = faults.not_here(kinds)
  for name, why in sorted(missing.items()):
    say(f"NOT RUN: {name}: {why}")
  kinds = [k for k in kinds if k.name not in missing]
  if not kinds:
    raise ClusterError("none of these faults can be had here")
  schedule = Schedule(seed, kinds)
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
  came = {i.name for v in verdicts for i in v.injected
          if not i.skipped or i.again}
  late = [k.key for k in kinds if k.name not in came]
  if late:
    say(f"no time for: {', '.join(late)}")
  return conclude(arguments, verdicts, seed, out, missing)


def conclude(arguments, verdicts, seed, out, missing):
  never = never_injected(verdicts)
  bad = never or any(v.problems for v in verdicts)
  rows = rows_of(verdicts, missing)
  say("\n".join(table(rows)))
  for name, why in sorted(never.items()):
    say(f"VIOLATION: {name} was skipped in all its turns: {why}")
  if arguments.json:
    with open(arguments.json, "w", encoding="utf-8") as f:
      json.dump({"mode": arguments.mode, "seed": seed,
                 **counts(verdicts, missing), "kinds": rows,
                 "never_injected": never,
                 "problems": [p for v in verdicts for p in v.problems]}, f,
                indent=1)
  if bad:
    say(f"kept: {out}; chaos.py check {out}/round{len(verdicts)} checks it "
        f"again")
  elif not arguments.keep:
    shutil.rmtree(out, ignore_errors=True)
  say(summary(verdicts, seed, missing, arguments.mode))
  return 1 if bad else 0


def chosen_faults(only):
  if not only:
    return faults.FAULTS
  names = only.split(",")
  unknown = set(names) - {k.key for k in faults.FAULTS}
  if unknown:
    raise ClusterError(f"no such fault: {', '.join(sorted(unknown))}; see "
                       f"chaos.py faults")
  return [k for k in faults.FAULTS if k.key in names]


def check(arguments):
  if not os.path.isdir(arguments.folder):
    raise ClusterError(f"there is no folder {arguments.folder}; histories are "
                       f"kept in one for each round")
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
  missing = faults.not_here(faults.FAULTS)
  for fault in faults.FAULTS:
    say(f"{fault.key:34} {missing.get(fault.name, 'yes')}")
  return 0


def parse():
  parser = argparse.ArgumentParser(
      description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
  commands = parser.add_subparsers(dest="command", required=True)
  go = commands.add_parser("run", help="inject faults and judge")
  go.add_argument("--minutes", type=float, default=2)
  go.add_argument("--seed", type=int, help="default: a random one")
  go.add_argument("--only", help="faults by name, comma-separated")
  go.add_argument("--json", help="file for the table, as JSON")
  go.add_argument("--out", help="folder for histories (default: a new one)")
  go.add_argument("--keep", action="store_true",
                  help="keep the histories of a good run, too")
  go.add_argument("--rate", type=float, default=45,
                  help="calls a second of each of 18 logical clients")
  go.add_argument("--mode", choices=sorted(MODES), default="kamino",
                  help="of the chain (default: %(default)s)")
  go.add_argument("--failure_timeout_ms", type=int, default=1000)
  go.set_defaults(run=run)
  again = commands.add_parser("check", help="check kept histories again")
  again.add_argument("folder", help="of one round")
  again.set_defaults(run=check)
  commands.add_parser("faults", help="list the faults").set_defaults(
      run=list_faults)
  return parser.parse_args()


def main():
  for number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.default_int_handler)
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
