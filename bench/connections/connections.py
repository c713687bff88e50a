#!/usr/bin/env python3
"""Cost of clients' sessions and connections for a node of a Kamino chain.

Starts a chain on this machine for each measure, runs bench_connections on it,
and ends it. Figures are printed and written as JSON.
"""

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "deploy", "local"))
# pylint: disable=wrong-import-position
from binaries import Binaries
from local_cluster import LocalCluster, default_parent, needed_mb
from processes import ClusterError

PROGRAM = "bench/connections/bench_connections"
MEASURES = ("sessions", "shm", "tcp", "grpc", "grpc-streams", "verbs")
VERBS_DEVICES = "/sys/class/infiniband"
# The chain is not to lose a node because the machine is busy.
FAILURE_TIMEOUT_MS = 5000
MIB = 1 << 20
KIB = 1 << 10
TARGET_SESSIONS_MIB = 200
TARGET_SPEED = 0.95  # of what it was without them: no loss, but for noise


def measures(text):
  words = text.split(",")
  for word in words:
    if word not in MEASURES:
      raise argparse.ArgumentTypeError(
          f"'{word}' is none of {', '.join(MEASURES)}")
  return words


def parse(words=None):
  parser = argparse.ArgumentParser(
      description=__doc__, allow_abbrev=False,
      epilog="Other flags are bench_connections' (bench_connections --help).")
  parser.add_argument("--only", type=measures, metavar="MEASURES",
                      help=f"of {', '.join(MEASURES)}, separated by commas; "
                           "by default all, verbs where there is a device")
  parser.add_argument("--nodes", type=int, default=3, metavar="N",
                      choices=range(2, 17), help="of the chain (default: 3)")
  parser.add_argument("--heap_mb", type=int, default=256,
                      help="of each node (default: %(default)s)")
  parser.add_argument("--quick", action="store_true",
                      help="1,000 of each, short slices, one round")
  parser.add_argument("--out", help="file for the figures as JSON")
  parser.add_argument("--json", action="store_true",
                      help="print the figures as JSON, the table to stderr")
  arguments, flags = parser.parse_known_args(words)
  if arguments.only is None:
    arguments.only = [m for m in MEASURES if m != "verbs" or verbs_devices()]
  return arguments, flags


def verbs_devices():
  try:
    return os.listdir(VERBS_DEVICES)
  except OSError:
    return []


class Rig:
  """A chain of its own; use with `with`."""

  def __init__(self, binaries, nodes, heap_mb):
    self.folder = tempfile.mkdtemp(
        prefix="kamino-connections-",
        dir=default_parent(needed_mb(nodes, heap_mb=heap_mb)))
    self.cluster = LocalCluster(os.path.join(self.folder, "c"), binaries)
    self._settings = {"nodes": nodes, "heap_mb": heap_mb}

  def __enter__(self):
    try:
      self.cluster.start(failure_timeout_ms=FAILURE_TIMEOUT_MS,
                         **self._settings)
      self.formed = self.cluster.chain()
    except BaseException:
      self.__exit__()
      raise
    return self

  def __exit__(self, *unused):
    self.cluster.destroy()
    shutil.rmtree(self.folder, ignore_errors=True)

  def flags(self):
    """Where the chain is, as bench_connections takes it."""
    names = self.formed[0]
    roles = ["head", *(f"middle{i}" for i in range(1, len(names) - 1)), "tail"]
    pids = [self.cluster.state["processes"][name]["pid"] for name in names]
    return [f"--seeds={','.join(self.cluster.addresses_of(names))}",
            "--processes=" + ",".join(
                f"{role}:{pid}" for role, pid in zip(roles, pids))]

  def check_undisturbed(self):
    now = self.cluster.chain()
    if now != self.formed:
      raise ClusterError(
          "the figures are of no use: the chain has changed, from view "
          f"{self.formed[1]} to {now[1]}")


def measure(rig, program, name, flags):
  """bench_connections' figures. It ends when this does."""
  with subprocess.Popen(
      [program, f"--measure={name}", "--json", *rig.flags(), *flags],
      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
      start_new_session=True) as process:
    try:
      text = process.communicate()[0]
    finally:
      if process.poll() is None:
        process.kill()
  if process.returncode != 0:
    raise ClusterError(f"{name} could not be measured")
  rig.check_undisturbed()
  result = json.loads(text)
  check_work(name, result["rounds"])
  return result


def check_work(name, rounds):
  """A slice in which nothing was done would pass for a fast one beside it."""
  for number, one in enumerate(rounds, 1):
    for what in ("puts", "gets"):
      for when in ("before", "with", "after"):
        if one[f"{what}_per_s_{when}"] <= 0:
          raise ClusterError(f"{name}: no {what} were done in round {number}, "
                             f"in the slice {when} the others: the node hung")


# --- Figures.

def growth(rounds, what):
  """The largest, in bytes, over what there was before they first came."""
  return max(r[f"{what}_with"] for r in rounds) - rounds[0][f"{what}_before"]


def kept(rounds, what):
  """Bytes that were not given back at the end."""
  return rounds[-1][f"{what}_after"] - rounds[0][f"{what}_before"]


def speed_ratios(rounds, what):
  """Speed with the crowd, relative to that without it, of each round."""
  return [2 * r[f"{what}_with"] / (r[f"{what}_before"] + r[f"{what}_after"])
          for r in rounds]


def speed_ratio(rounds, what):
  return statistics.median(speed_ratios(rounds, what))


def row(name, result):
  rounds = result["rounds"]
  opened = max(r["opened"] for r in rounds)
  per = max(opened, 1) * KIB
  newcomers = [r["newcomer_ms"] for r in rounds
               if r["newcomer_ms"] is not None]
  return {
      "measure": name, "asked": int(result["facts"]["asked"]),
      "opened": opened,
      "refused": next((r["refused"] for r in rounds if r["refused"]), None),
      "head_own_mib": growth(rounds, "head_own_bytes") / MIB,
      "head_own_kib_each": growth(rounds, "head_own_bytes") / per,
      "head_own_kept_mib": kept(rounds, "head_own_bytes") / MIB,
      "head_shared_kib_each": growth(rounds, "head_shared_bytes") / per,
      "tail_own_mib": growth(rounds, "tail_own_bytes") / MIB,
      "kernel_kib_each": growth(rounds, "kernel_bytes") / per,
      "heap_mib": growth(rounds, "heap_bytes") / MIB,
      "opening_s": statistics.median(r["opening_s"] for r in rounds),
      "puts_per_s": statistics.median(r["puts_per_s_with"] for r in rounds),
      "gets_per_s": statistics.median(r["gets_per_s_with"] for r in rounds),
      "puts_ratio": speed_ratio(rounds, "puts_per_s"),
      "gets_ratio": speed_ratio(rounds, "gets_per_s"),
      "puts_ratios": speed_ratios(rounds, "puts_per_s"),
      "gets_ratios": speed_ratios(rounds, "gets_per_s"),
      "put_us_ratio": speed_ratio(rounds, "put_us"),
      "idle_percent": 100 * statistics.median(
          r["head_idle_processor_with"] - r["head_idle_processor_before"]
          for r in rounds),
      "newcomer_ms": statistics.median(newcomers) if newcomers else None,
      "newcomer_error": next(
          (r["newcomer_error"] for r in rounds if r["newcomer_error"]), None),
  }


COLUMNS = (  # of the table: head, field, format
    ("", "measure", "{:13}"), ("opened", "opened", "{:>7}"),
    ("head MiB", "head_own_mib", "{:>8.1f}"),
    ("KiB each", "head_own_kib_each", "{:>8.2f}"),
    ("kept MiB", "head_own_kept_mib", "{:>8.1f}"),
    ("shm each", "head_shared_kib_each", "{:>8.2f}"),
    ("tail MiB", "tail_own_mib", "{:>8.1f}"),
    ("kernel", "kernel_kib_each", "{:>7.2f}"),
    ("heap MiB", "heap_mib", "{:>8.1f}"),
    ("open s", "opening_s", "{:>7.2f}"),
    ("puts/s", "puts_per_s", "{:>7.0f}"), ("ratio", "puts_ratio", "{:>5.2f}"),
    ("gets/s", "gets_per_s", "{:>7.0f}"), ("ratio", "gets_ratio", "{:>5.2f}"),
    ("put us", "put_us_ratio", "{:>6.2f}"),
    ("idle %", "idle_percent", "{:>6.1f}"),
    ("new ms", "newcomer_ms", "{:>6.1f}"))


def width(form):
  return len(form.format(0))


def title():
  return " ".join(head.rjust(width(form)) for head, _, form in COLUMNS)


def line(figures):
  """A line of the table, and beneath it the refusals."""
  text = " ".join(
      "-".rjust(width(form)) if figures[field] is None
      else form.format(figures[field]) for _, field, form in COLUMNS)
  if figures["refused"]:
    text += (f"\n  no more than {figures['opened']} of {figures['asked']}: "
             f"{figures['refused']}")
  if figures["newcomer_error"]:
    text += f"\n  a new client is refused: {figures['newcomer_error']}"
  return text


def target(what, wanted, rounds, at_most):
  """One that was aimed at, by the median of the rounds."""
  measured = statistics.median(rounds)
  return {"what": what, "wanted": wanted, "measured": measured,
          "rounds": rounds,
          "met": measured <= wanted if at_most else measured >= wanted}


def targets(rows):
  all_targets = []
  for each in rows:
    name = each["measure"]
    if name == "sessions":
      all_targets.append(target(f"{each['opened']} sessions at the head, MiB",
                                TARGET_SESSIONS_MIB, [each["head_own_mib"]],
                                at_most=True))
    for what in ("puts", "gets"):
      all_targets.append(target(
          f"{name}: {what} per second, with to without", TARGET_SPEED,
          each[f"{what}_ratios"], at_most=False))
  return all_targets


def target_line(each):
  spread = f"{min(each['rounds']):.2f}..{max(each['rounds']):.2f}"
  return (f"{each['what']:47} {each['measured']:6.2f} {spread:>12}  "
          f"({each['wanted']:g}: {'met' if each['met'] else 'missed'})")


def run(arguments, flags):
  """The rows of the table, printed as they come, and all figures."""
  binaries = Binaries()
  program = os.path.join(binaries.root, PROGRAM)
  if not os.access(program, os.X_OK):
    raise ClusterError(f"{PROGRAM} is not in {binaries.root}; run make "
                       "bench-connections")
  if arguments.quick:
    flags = ["--quick", *flags]
  print(title(), flush=True)
  rows, results = [], {}
  for name in arguments.only:
    with Rig(binaries, arguments.nodes, arguments.heap_mb) as rig:
      results[name] = measure(rig, program, name, flags)
    rows.append(row(name, results[name]))
    print(line(rows[-1]), flush=True)
  print()
  met = targets(rows)
  for each in met:
    print(target_line(each), flush=True)
  return {"bench": "connections", "facts": {}, "settings": vars(arguments),
          "flags": flags, "measurements": rows, "targets": met,
          "runs": results}


def main():
  for number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.default_int_handler)
  arguments, flags = parse()
  figures = sys.stdout
  if arguments.json:
    sys.stdout = sys.stderr
  try:
    answer = json.dumps(run(arguments, flags), indent=1)
  except ClusterError as error:
    print(f"connections: {error}", file=sys.stderr)
    return 1
  except KeyboardInterrupt:
    return 130
  if arguments.out:
    with open(arguments.out, "w", encoding="utf-8") as f:
      f.write(answer + "\n")
  if arguments.json:
    print(answer, file=figures)
  return 0


if __name__ == "__main__":
  sys.exit(main())
