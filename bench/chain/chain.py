#!/usr/bin/env python3
"""Chains of each mode beside each other on this machine.

Kamino's f + 2 nodes, the traditional chain's f + 1 with an undo log or with
dynamic copies at each, and f + 1 whose log entries carry images: latency,
throughput, processor time, storage, bytes on links, and the paper's marks
beside the results. docs/benchmarks/chain.md.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "report"))
# pylint: disable=wrong-import-position
import chain_view
import costs
import marks
import model
import page
from chains import ChainRig, ClusterError, check_subject, nodes_of
import service
from binaries import Binaries

SUBJECTS = "kamino,traditional-log,traditional-dynamic,images"
MAIN_FAILURES = 2  # the paper's
YCSB = [f"ycsb-{letter}" for letter in "abcdef"]
TREE = ["tree-spaced", "tree-bursts", "tree-spaced-any", "tree-bursts-any"]
WORKLOADS = ["put", *YCSB, "tpcc", "tree"]
OTHER_WORKLOADS = ["put", "ycsb-a", "ycsb-c"]
DELAY_WORKLOADS = ["put", "ycsb-a"]
DELAY_OUTSTANDING = "1,32"
TPCC_OUTSTANDING = "1,8"
LINK_SIZES = (64, 1024, 4096)
EXIT_USAGE = 2

FULL = {"objects": 100_000, "tree_objects": 10_000, "rounds": 3,
        "slice_ms": 1000, "link_puts": 5000}
QUICK = {"objects": 2000, "tree_objects": 1000, "rounds": 1, "slice_ms": 150,
         "link_puts": 500}


def words_of(check, what):
  """The type of a flag: words that `check` has nothing against."""
  def parse_words(text):
    words = text.split(",")
    for word in words:
      wrong = check(word)
      if wrong is not None:
        raise argparse.ArgumentTypeError(wrong)
    if len(set(words)) != len(words):
      raise argparse.ArgumentTypeError(f"a {what} is named twice")
    return words
  return parse_words


def numbers_of(low, high, what):
  """Parses words that are numbers from `low` to `high`."""
  def check(word):
    if word.isdecimal() and low <= int(word) <= high:
      return None
    return f"'{word}': {what} is a number from {low} to {high}"
  return lambda text: [int(w) for w in words_of(check, what)(text)]


def check_workload(word):
  if word in WORKLOADS:
    return None
  return f"'{word}' is none of {', '.join(WORKLOADS)}"


def at_least(least, most=1 << 30):
  def parse_number(text):
    if not text.isdecimal() or not least <= int(text) <= most:
      raise argparse.ArgumentTypeError(
          f"'{text}' is no number from {least} to {most}")
    return int(text)
  return parse_number


def fraction(text):
  try:
    value = float(text)
  except ValueError:
    value = 0.0
  if not 0 < value <= 1:
    raise argparse.ArgumentTypeError("over 0 and at most 1")
  return value


def price_list(path):
  try:
    return costs.read(path)
  except (OSError, ValueError) as error:
    raise argparse.ArgumentTypeError(f"{path}: {error}") from error


def add_scale_flags(parser):
  parser.add_argument("--rounds", type=at_least(1, 1000),
                      help="over all subjects (default: 3, or 1 of the quick)")
  parser.add_argument("--slice_ms", type=at_least(1, 3_600_000),
                      help="of each subject in a round (default: 1000, or 150)")
  parser.add_argument("--objects", type=at_least(100, 100_000_000),
                      help="of 1 KiB (default: 100000, or 2000)")
  parser.add_argument("--tree_rates", type=numbers_of(1, 10_000_000, "a rate"),
                      default=[4000, 16000], metavar="N,...",
                      help="operations a second of the tree workload, the same "
                           "for all (default: 4000,16000)")
  parser.add_argument("--heap_mb", type=at_least(16, 1 << 20),
                      help="of each node (default: 320, or 64)")


def parse(words=None):
  parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
  parser.add_argument(
      "--subjects", type=words_of(check_subject, "subject"),
      default=SUBJECTS.split(","),
      help="kamino, kamino-simple, traditional-log, traditional-dynamic, "
           "images, each with as many nodes as it needs or NAME@NODES "
           f"(default: {SUBJECTS}, and kamino-simple for f = 2)")
  parser.add_argument("--failures", type=numbers_of(1, 6, "failures"),
                      default=[1, 2, 3], metavar="F,...",
                      help="that chains survive (default: 1,2,3)")
  parser.add_argument("--workloads", type=words_of(check_workload, "workload"),
                      help=f"of {', '.join(WORKLOADS)} (default: all of them "
                           f"for f = {MAIN_FAILURES}, for others "
                           f"{','.join(OTHER_WORKLOADS)})")
  parser.add_argument("--outstanding",
                      type=numbers_of(1, 1024, "operations under way"),
                      default=[1, 32, 128], metavar="N,...",
                      help="operations under way at once (default: 1,32,128)")
  parser.add_argument("--delays", type=numbers_of(0, 100_000, "a delay"),
                      metavar="NS,...",
                      help="that each drain and each line takes longer, in ns; "
                           "0 for none but what is measured anyway (default: "
                           "100,300,1000; --quick: 1000)")
  parser.add_argument("--alpha", type=fraction, default=0.25,
                      help="of dynamic copies, of the heap (default: 0.25)")
  parser.add_argument("--scrub_mb_per_s", type=at_least(0), default=0,
                      help="of each head (default: 0: the nodes compare "
                           "nothing meanwhile)")
  parser.add_argument("--prices", type=price_list,
                      default=os.path.join(HERE, "prices.json"),
                      help="a file of the form of bench/chain/prices.json")
  parser.add_argument("--quick", action="store_true", help="less of all")
  parser.add_argument("--json", action="store_true",
                      help="print the results as JSON rather than tables")
  parser.add_argument("--out", help="a file for the results, as JSON")
  add_scale_flags(parser)
  settings = parser.parse_args(words)
  # With --subjects, only the named subjects run.
  settings.adds_simple = settings.subjects == SUBJECTS.split(",")
  for name, value in (QUICK if settings.quick else FULL).items():
    if getattr(settings, name, None) is None:
      setattr(settings, name, value)
  settings.heap_mb = settings.heap_mb or (64 if settings.quick else 320)
  if settings.delays is None:
    settings.delays = [1000] if settings.quick else [100, 300, 1000]
  return settings


class Bench:
  """All of a run; `results` grows."""

  def __init__(self, settings, binaries):
    self._settings = settings
    self._binaries = binaries
    self._program = os.path.join(binaries.root, service.PROGRAM)
    if not os.access(self._program, os.X_OK):
      raise ClusterError(f"{service.PROGRAM} is not in {binaries.root}; run "
                         "make bench-chain")
    self.failed = False
    self.disturbed = []
    self.results = {"bench": "chain", "facts": {}, "prices": settings.prices,
                    "subjects": [], "measurements": [], "storage": [],
                    "links": []}

  def run(self):
    for failures in self._settings.failures:
      self._run_failures(failures)
    main = self.main_failures()
    for delay_ns in self._settings.delays:
      if delay_ns != 0:
        self._run_delayed(main, delay_ns)
    self.results["facts"].update(
        objects=f"{self._settings.objects} of 1 KiB, zipfian 0.99",
        alpha=str(self._settings.alpha),
        heap=f"{self._settings.heap_mb} MiB of each node",
        scrub=f"{self._settings.scrub_mb_per_s} MB/s",
        delays=", ".join(f"{d} ns" for d in self._settings.delays))
    self.results["costs"] = costs.of(self.results, main)
    self.results["model"] = model.of(self.results)
    self.results["marks"] = marks.of(self.results, main)

  def main_failures(self):
    """The number of failures with most measurements: the paper's, if
    measured."""
    failures = self._settings.failures
    return MAIN_FAILURES if MAIN_FAILURES in failures else failures[0]

  def _words(self, failures):
    words = list(self._settings.subjects)
    if self._settings.adds_simple and failures == self.main_failures():
      words.insert(1, "kamino-simple")
    return words

  def _workloads(self, failures):
    if self._settings.workloads is not None:
      return self._settings.workloads
    if failures == self.main_failures():
      return WORKLOADS
    return ["put"] if self._settings.quick else OTHER_WORKLOADS

  def _run_failures(self, failures):
    workloads = self._workloads(failures)
    outstanding = ",".join(str(n) for n in self._settings.outstanding)
    plain = [w for w in workloads if w not in ("tpcc", "tree")]
    with ChainRig(self._words(failures), failures, 0, self._settings,
                  self._binaries) as rig:
      self._add_subjects(rig, failures)
      if plain:
        self._measure(rig, failures, 0, "ycsb", plain,
                      f"--outstanding={outstanding}")
      self._ask(rig, failures)
      if "tpcc" in workloads:
        self._measure(rig, failures, 0, "tpcc", ["tpcc"],
                      f"--outstanding={TPCC_OUTSTANDING}")
      if "tree" in workloads:
        rates = ",".join(str(n) for n in self._settings.tree_rates)
        self._measure(rig, failures, 0, "tree", TREE, "--outstanding=0",
                      f"--rates={rates}", "--arrivals=fixed",
                      objects=self._settings.tree_objects)
      self.disturbed += rig.disturbed()

  def _run_delayed(self, failures, delay_ns):
    with ChainRig(list(self._settings.subjects), failures, delay_ns,
                  self._settings, self._binaries) as rig:
      self._measure(rig, failures, delay_ns, "delay",
                    DELAY_WORKLOADS[:1] if self._settings.quick
                    else DELAY_WORKLOADS,
                    f"--outstanding={DELAY_OUTSTANDING}")
      self.disturbed += rig.disturbed()

  def _add_subjects(self, rig, failures):
    for word, chain in rig.chains.items():
      self.results["subjects"].append({
          "name": word, "kind": "chain", "failures": failures,
          "nodes": nodes_of(word, failures), "mode": chain.kind.mode,
          "undo_copy": chain.kind.undo_copy, "about": chain.about()})

  def _ask(self, rig, failures):
    """The figures that are not times: storage and bytes on links."""
    for word, chain in rig.chains.items():
      asked = {"subject": word, "failures": failures}
      self.results["storage"].append({**asked, **chain.storage()})
      for size in LINK_SIZES:
        self.results["links"].append({**asked, **chain.bytes_on_links(
            size, self._settings.link_puts,
            min(1000, self._settings.link_puts))})

  def _measure(self, rig, failures, delay_ns, suite, workloads, *flags,
               objects=None):
    """Runs bench_service, and takes its measurements over."""
    settings = self._settings
    with tempfile.TemporaryDirectory() as folder:
      out = os.path.join(folder, "out.json")
      code = service.run(
          rig, self._program,
          [f"--workloads={','.join(workloads)}", "--loads=0",
           "--endurance_s=0", f"--objects={objects or settings.objects}",
           f"--rounds={settings.rounds}", f"--slice_ms={settings.slice_ms}",
           f"--out={out}", *(["--quick"] if settings.quick else []), *flags],
          stdout=subprocess.DEVNULL)
      if not os.path.exists(out):
        raise ClusterError(f"bench_service ended with {code}")
      with open(out, encoding="utf-8") as file:
        measured = json.load(file)
    self.failed = self.failed or code != 0
    for name in ("scale", "processor", "processors", "rounds", "slice"):
      self.results["facts"][name] = measured["facts"][name]
    self.results["facts"][f"steal, {suite}, f = {failures}, {delay_ns} ns"] = (
        measured["facts"]["steal"])
    self.results["measurements"] += [
        {"suite": suite, "failures": failures, "delay_ns": delay_ns, **row}
        for row in measured["measurements"]]


def write(results, settings):
  text = json.dumps(results, indent=1, ensure_ascii=False) + "\n"
  if settings.out:
    with open(settings.out, "w", encoding="utf-8") as file:
      file.write(text)
  sys.stdout.write(text if settings.json
                   else page.text(chain_view.report(results)))


def main():
  for number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.default_int_handler)
  settings = parse()
  try:
    bench = Bench(settings, Binaries())
    bench.run()
    write(bench.results, settings)
  except (ClusterError, OSError) as error:
    print(f"chain: {error}", file=sys.stderr)
    return 1
  except KeyboardInterrupt:
    return 130
  for why in bench.disturbed:
    print(f"chain: the figures are of no use: {why}", file=sys.stderr)
  if bench.failed:
    print("chain: some operation failed", file=sys.stderr)
  return 1 if bench.failed or bench.disturbed else 0


if __name__ == "__main__":
  sys.exit(main())
