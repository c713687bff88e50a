#!/usr/bin/python3
"""How long a chain of real processes is interrupted when a process dies.

Time from a kill -9 to the next acknowledged write (head, middle, tail, leading
manager), the pause of a planned stop of a member, a promotion by the size of
the heap, a quick reboot, and the state transfer to a joining node. Medians of
several rounds, each on a fresh cluster on this machine. Figures are printed and
written as JSON.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "report"))
# pylint: disable=wrong-import-position
import plots
import views
from rig import ClusterError, Disturbed, Rig, wait_until
from binaries import Binaries

STEPS = ("kills", "stops", "promotions", "quick_reboots", "transfers")
ROLES = {"head": 0, "middle": 1, "tail": -1}
LEADER_TTL_S = 2
GRACE_MS = 500  # in which a new leader expels no node
TARGET_BEYOND_MS = 50
REBOOT_MS = 8000  # a failure timeout in which a node can come back
PATIENT_MS = 1000  # a failure timeout where detection is not what counts
ATTEMPTS = 3  # a busy machine may lose a node before it is killed
FILLED = 0.5  # of a heap
STOP_WINDOW_S = 2.0  # after the signal, in which a pause is looked for
GONE_MS = 10000
SETTLE_S = 2.0
JOIN_S = 120.0


class Bench:
  """Runs the measurements and keeps their figures: rows of a table."""

  def __init__(self, settings):
    self.settings = settings
    self.binaries = Binaries()
    self.rows = []

  def rig(self, **changes):
    return Rig(self.binaries, **{
        "failure_timeout_ms": self.settings.failure_timeout_ms,
        "leader_ttl_s": LEADER_TTL_S, **changes})

  def row(self, name, values, unit, target=None, note=""):
    """`values`: of the rounds."""
    row = {"name": name, "unit": unit, "rounds": values, "target": target,
           "median": statistics.median(values),
           "note": note}
    self.rows.append(row)
    print(line(row), flush=True)

  def rounds(self, measure):
    return [self.round(measure) for _ in range(self.settings.rounds)]

  @staticmethod
  def round(measure):
    for _ in range(ATTEMPTS - 1):
      try:
        return measure()
      except Disturbed as error:
        print(f"  (once more: {error})", file=sys.stderr, flush=True)
    return measure()

  # --- Kills.

  def kills(self):
    detection = self.settings.failure_timeout_ms
    for role in ROLES:
      self.row(f"kill {role} to next write",
               self.rounds(lambda r=role: self.kill(r)), "ms",
               detection + TARGET_BEYOND_MS,
               f"detection {detection} ms")
    gaps = self.rounds(self.kill_leader)
    self.row("no kill: without a write for", [g for g, _ in gaps], "ms",
             None, f"in {2 * LEADER_TTL_S} s")
    self.row("kill leader: without a write for", [g for _, g in gaps], "ms",
             detection + TARGET_BEYOND_MS, f"leader's TTL {LEADER_TTL_S} s")
    wait = LEADER_TTL_S * 1000 + max(detection, GRACE_MS)
    self.row("kill leader and head to next write",
             self.rounds(self.kill_leader_and_head), "ms",
             wait + TARGET_BEYOND_MS, "as on one machine")

  def kill(self, role, **changes):
    with self.rig(**changes) as rig:
      return self.kill_in(rig, role)

  @staticmethod
  def kill_in(rig, role):
    rig.begin_writes()
    victim = rig.whole_chain()[ROLES[role]]
    killed = time.monotonic()
    rig.cluster.kill(victim)
    return 1000 * rig.stall_after(
        killed, 2 * rig.settings["failure_timeout_ms"] / 1000)

  def kill_leader(self):
    """The longest time without a write before and after it, as writes need not
    be interrupted: when the longest one ends says nothing then."""
    with self.rig(managers=2) as rig:
      rig.begin_writes()
      before = rig.longest_gap_after(time.monotonic(), 2 * LEADER_TTL_S)
      leader = self.leader_of(rig)
      rig.whole_chain()
      killed = time.monotonic()
      rig.cluster.kill(leader)
      after = rig.longest_gap_after(killed, 2 * LEADER_TTL_S)
      return 1000 * before, 1000 * after

  def kill_leader_and_head(self):
    with self.rig(managers=2) as rig:
      rig.begin_writes()
      leader = self.leader_of(rig)
      head = rig.whole_chain()[0]
      killed = time.monotonic()
      rig.cluster.kill(leader)
      rig.cluster.kill(head)
      return 1000 * rig.stall_after(killed, 2 * LEADER_TTL_S)

  @staticmethod
  def leader_of(rig):
    leader = rig.leader()
    if leader is None:
      raise ClusterError("no manager leads")
    return leader

  # --- Planned stops.

  def stops(self):
    """Planned stops, as by systemctl stop or a rolling restart."""
    for role in ROLES:
      stopped = self.rounds(lambda r=role: self.stop(r))
      self.row(f"stop {role}: without a write for",
               [gap for gap, _, _ in stopped], "ms", TARGET_BEYOND_MS,
               "SIGTERM, no call failed")
      self.row(f"stop {role}: without a read for",
               [gap for _, gap, _ in stopped], "ms")
      self.row(f"stop {role}: gone after",
               [gone for _, _, gone in stopped], "ms", GONE_MS)

  def stop(self, role):
    """(longest time without a write, without a read, until the end) in ms."""
    with self.rig(failure_timeout_ms=PATIENT_MS) as rig:
      rig.begin_writes()
      victim = rig.whole_chain()[ROLES[role]]
      told = time.monotonic()
      rig.cluster.kill(victim, signal.SIGTERM)
      gone = time.monotonic() - told
      writes = rig.longest_gap_after(told, STOP_WINDOW_S)
      reads = rig.longest_gap_of_reads_after(told, STOP_WINDOW_S)
      rig.cluster.restart(victim)
      wait_until(lambda: len(rig.cluster.chain()[0]) ==
                 rig.settings["nodes"], JOIN_S, f"{victim} to be back")
      rig.check_no_call_failed()
      return 1000 * writes, 1000 * reads, 1000 * gone

  # --- Heaps.

  def promotions(self):
    """Promotions, with half of the heap full of objects of 1 MB."""
    for heap_mb in self.settings.heaps_mb:
      self.row(f"promotion, heap {heap_mb} MiB",
               self.rounds(lambda size=heap_mb: self.promotion(size)), "ms",
               TARGET_BEYOND_MS, "kill head to next write, less detection")

  def promotion(self, heap_mb):
    # Filling keeps the machine busy: no node may be expelled by mistake.
    with self.rig(nodes=2, heap_mb=heap_mb,
                  failure_timeout_ms=PATIENT_MS) as rig:
      rig.fill(FILLED)
      return max(0.0, self.kill_in(rig, "head") - PATIENT_MS)

  def quick_reboots(self):
    """The tail is killed and started again at once."""
    heap_mb = self.settings.heaps_mb[-1]
    name = f"quick reboot, heap {heap_mb} MiB"
    return self.row(name, self.rounds(lambda: self.quick_reboot(heap_mb)),
                    "ms", 200, "kill tail to next write, less starting a "
                    "program")

  def quick_reboot(self, heap_mb):
    with self.rig(nodes=2, heap_mb=heap_mb,
                  failure_timeout_ms=REBOOT_MS) as rig:
      rig.fill(FILLED)
      rig.begin_writes()
      start_s = program_start_s(rig.cluster.binary("kamino_node"))
      chain = rig.whole_chain()
      killed = time.monotonic()
      rig.cluster.kill(chain[-1])
      rig.cluster.restart(chain[-1])
      stall_ms = 1000 * rig.stall_after(killed, REBOOT_MS / 1000)
      if rig.cluster.chain()[0] != chain:
        raise ClusterError("the node lost its place")
      return max(0.0, stall_ms - 1000 * start_s)

  # --- Joining.

  def transfers(self):
    heap_mb = self.settings.heaps_mb[-1]
    names = [f"state transfer, heap {heap_mb} MiB", "writes during it"]
    results = self.rounds(lambda: self.transfer(heap_mb))
    self.row(names[0], [rate for rate, _ in results], "MB/s", 500,
             "objects of 1 MB in half of the heap")
    self.row(names[1], [part for _, part in results], "% of before", 50)

  def transfer(self, heap_mb):
    """(MB/s, percent of the writes before) while a node joins, without data."""
    with self.rig(nodes=2, heap_mb=heap_mb,
                  failure_timeout_ms=PATIENT_MS) as rig:
      rig.fill(FILLED)
      rig.begin_writes()
      sender, joins = rig.whole_chain()
      rig.cluster.kill(joins)
      rig.cluster.await_chain([sender])
      alone = time.monotonic()
      rig.await_writes(alone + SETTLE_S)
      rig.lose_data(joins)
      rig.cluster.restart(joins)
      rig.cluster.await_chain([sender, joins], timeout=JOIN_S)
      rig.await_writes(time.monotonic())
      begin, end, sent_mb = rig.last_transfer(sender)
      return (sent_mb / (end - begin),
              100 * rig.write_rate(begin, end) /
              rig.write_rate(alone, alone + SETTLE_S))


def program_start_s(program):
  """Time to load the program and to end it."""
  times = []
  for _ in range(5):
    began = time.monotonic()
    subprocess.run([program, "--help"], stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=False)
    times.append(time.monotonic() - began)
  return statistics.median(times)


def line(row):
  target = "" if row["target"] is None else f"{row['target']}"
  spread = f"{min(row['rounds']):.0f}..{max(row['rounds']):.0f}"
  return (f"{row['name']:32} {row['median']:>8.0f} {spread:>14} {target:>8} "
          f"{row['unit']:12} {row['note']}").rstrip()


def parse():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--out", help="file for the figures as JSON")
  parser.add_argument("--json", action="store_true",
                      help="print the figures as JSON, the table to stderr")
  parser.add_argument("--quick", action="store_true",
                      help="two rounds, small heaps")
  parser.add_argument("--rounds", type=int, help="of each figure")
  parser.add_argument("--failure_timeout_ms", type=int, default=200,
                      help="the managers' detection time")
  parser.add_argument("--heaps_mb", help="sizes of heaps, comma-separated")
  parser.add_argument("--only", choices=STEPS)
  parser.add_argument("--plot", help="file for a plot of the planned stops, "
                      "SVG or PNG")
  arguments = parser.parse_args()
  if arguments.rounds is None:
    arguments.rounds = 2 if arguments.quick else 5
  heaps = arguments.heaps_mb or ("64,512" if arguments.quick else
                                 "64,1024,4096")
  try:
    arguments.heaps_mb = [int(size) for size in heaps.split(",")]
  except ValueError:
    parser.error("--heaps_mb takes whole numbers, such as 64,1024")
  if arguments.rounds < 1 or min(arguments.heaps_mb) < 16:
    parser.error("--rounds is 1 at least, a heap 16 MiB")
  return arguments


def main():
  for number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.default_int_handler)
  arguments = parse()
  figures = sys.stdout
  if arguments.json:
    sys.stdout = sys.stderr
  print(f"{'':32} {'median':>8} {'spread':>14} {'target':>8}", flush=True)
  bench = Bench(arguments)
  try:
    for step in STEPS:
      if arguments.only in (None, step):
        getattr(bench, step)()
  except ClusterError as error:
    print(f"failover: {error}", file=sys.stderr)
    return 1
  except KeyboardInterrupt:
    return 130
  results = {"bench": "failover", "facts": {}, "settings": vars(arguments),
             "measurements": bench.rows}
  answer = json.dumps(results, indent=1)
  if arguments.out:
    with open(arguments.out, "w", encoding="utf-8") as f:
      f.write(answer + "\n")
  if arguments.json:
    print(answer, file=figures)
  return write_plot(results, arguments.plot) if arguments.plot else 0


def write_plot(results, path):
  """The exit code."""
  drawn = views.failover(results).plots()
  if not drawn:
    print(f"failover: no planned stop was measured, so there is no plot; "
          f"{path} was not written", file=sys.stderr)
    return 1
  try:
    for plot in drawn:
      plots.write(plot, path)
  except (ImportError, OSError, ValueError) as error:
    print(f"failover: cannot write {path}: {error}", file=sys.stderr)
    return 1
  return 0


if __name__ == "__main__":
  sys.exit(main())
