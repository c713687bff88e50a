#!/usr/bin/env python3
"""All atomicity schemes beside each other, and their papers' figures.

Runs bench_engine at several speeds of memory, bench_schemes, and
bench_crash_model; puts their measurements together, and the papers' marks
beside what came out. docs/bench_schemes.md.
"""

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
# pylint: disable=wrong-import-position
import marks
import rewind_marks
import rivals_marks
import schemes_report

# The one place that says which stores take part; a name that a program does not
# know is an error.
STORES = ["kamino-simple", "kamino-dynamic", "undo-object", "undo-range",
          "undo-own", "undo-each", "cow", "rewind-1-noforce-batch",
          "rewind-1-force-batch", "wrap", "archapt", "unsafe", "unsafe-each",
          "cached"]
# Unmodified libpmemobj: what it flushes is counted, and slowed, by a library
# that is preloaded; on this machine's own memory it is timed without.
OF_LIBPMEMOBJ = ("undo-object", "undo-range")

DRAINS_NS = {False: [0, 110, 250, 500, 1000], True: [0, 1000]}
SUMMARY = (r"^(micro/overwrite-bytes/hot/1/(64|1024|4096)|"
           r"ycsb/ycsb-[{ycsb}]/(zipfian|latest)/1/1000|"
           r"tpcc/tpcc-mix/nurand/1/0)$")
ROUNDS = {False: 9, True: 3}
# Long beside what is put off and done at a slice's end, within its time.
SLICE_MS = {False: 100, True: 10}
PART_ROUNDS = {False: 5, True: 1}
PROGRAMS = {"bench_engine": "bench/engine/bench_engine",
            "bench_schemes": "bench/schemes/bench_schemes",
            "bench_crash_model": "bench/crash_model/bench_crash_model",
            "shim": "bench/pmem_shim/libpmem_shim.so"}
PARTS = ("crashes", "summary", "figures")
COUNTED = ("fences_per_tx", "lines_flushed_per_tx", "background_fences_per_tx",
           "background_lines_flushed_per_tx")
TICKS = os.sysconf("SC_CLK_TCK")


class BenchError(Exception):
  """What cannot be gone on with; its text is for people."""


# --- What else the machine did.


def processor_ticks(stat):
  """(all, idle, stolen) of the text of /proc/stat."""
  words = [int(word) for word in stat.split("\n", 1)[0].split()[1:9]]
  return sum(words), words[3] + words[4], words[7]


def read_ticks():
  with open("/proc/stat", encoding="ascii") as file:
    return processor_ticks(file.read())


def children_ticks():
  used = resource.getrusage(resource.RUSAGE_CHILDREN)
  return (used.ru_utime + used.ru_stime) * TICKS


def load_between(before, after, own_ticks, processors):
  """What others used, in processors, and what the host took, as a part."""
  total, idle, stolen = (b - a for a, b in zip(before, after))
  if total <= 0:
    return {"foreign_processors": 0.0, "steal": 0.0}
  foreign = max(0.0, total - idle - stolen - own_ticks)
  return {"foreign_processors": foreign / total * processors,
          "steal": stolen / total}


# --- Programs.


def program(name):
  """bazel-bin's, or where the test's runfiles are."""
  for root in (os.path.join(ROOT, "bazel-bin"), ROOT):
    path = os.path.join(root, PROGRAMS[name])
    if os.path.exists(path):
      return path
  raise BenchError(f"{PROGRAMS[name]} is not built; `make bench-schemes` "
                   "builds it")


def environment_of(preload):
  """A program's; with `preload` libpmem's calls go through our library."""
  more = {"LD_PRELOAD": program("shim")} if preload else {}
  return {**os.environ, **more}


def lists_any(name, flags, preload):
  """Whether there is anything that the program would measure."""
  done = subprocess.run([program(name), "--list", *flags],
                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                        env=environment_of(preload), check=False)
  return done.returncode == 0


def add_counts(rows, counted):
  """Rows that were timed get what another run has counted."""
  def key(row):
    return (row["suite"], row["workload"], row["distribution"], row["threads"],
            row["value_size"], row["scheme"], row["alpha"])
  known = {key(row): row for row in counted}
  for row in rows:
    other = known.get(key(row))
    for field in COUNTED if other else ():
      row[field] = other[field]


def figure_flags(settings):
  """Of bench_schemes. To it an empty word is a word."""
  return [f"--schemes={','.join(settings.schemes)}",
          f"--rounds={settings.part_rounds}", f"--folder={settings.folder}",
          *([f"--only={settings.only}"] if settings.only else []),
          *(["--quick"] if settings.quick else [])]


class Bench:
  """Runs all, and keeps what came out."""

  def __init__(self, settings):
    self._settings = settings
    self.results = {"facts": {}, "stores": settings.schemes, "loads": [],
                    "engine": [], "points": [], "wrap_model": None,
                    "crash_model": None}

  def run(self):
    settings = self._settings
    for name in ("wrap_model", "crash_model"):
      path = getattr(settings, name)
      if path:
        with open(path, encoding="utf-8") as file:
          self.results[name] = json.load(file)
    # First: if recovery goes by something that is wrong, nothing else matters.
    if "crashes" in settings.parts and not settings.crash_model:
      self._crashes()
    if "summary" in settings.parts:
      for drain_ns in settings.drains:
        self._summary(drain_ns)
    if "figures" in settings.parts:
      self._figures()
    points = marks.Points(self.results["points"])
    self.results["marks"] = [
        *rewind_marks.of(points),
        *rivals_marks.of(points, self.results["engine"],
                         self.results["crash_model"])]

  def _run(self, name, what, flags, preload):
    """Runs a program; returns what it wrote."""
    with tempfile.TemporaryDirectory() as folder:
      out = os.path.join(folder, "out.json")
      environment = environment_of(preload)
      print(f"schemes: {name}, {what}", file=sys.stderr)
      before, own = read_ticks(), children_ticks()
      with subprocess.Popen(
          [program(name), *flags, f"--out={out}"],
          stdout=subprocess.DEVNULL, env=environment) as running:
        try:
          code = running.wait()
        except BaseException:
          running.terminate()
          running.wait()
          raise
      load = load_between(before, read_ticks(), children_ticks() - own,
                          os.cpu_count())
      if code != 0:
        raise BenchError(f"{name} ended with {code}")
      with open(out, encoding="utf-8") as file:
        measured = json.load(file)
    self.results["loads"].append({"run": f"{name}, {what}", **load})
    for fact in ("processor", "processors", "medium", "scale"):
      if fact in measured["facts"]:
        self.results["facts"][fact] = measured["facts"][fact]
    return measured

  def _summary(self, drain_ns):
    settings = self._settings
    only = SUMMARY.format(ycsb="abcdef" if drain_ns == 0 else "abf")
    # All stores' data has to be in memory at once: the quick scale's has.
    flags = ["--quick", f"--slice_ms={settings.slice_ms}", f"--only={only}",
             f"--folder={settings.folder}",
             f"--pmem_delay_drain_ns={drain_ns}",
             *(["--least_data"] if settings.quick else [])]
    measured = self._run(
        "bench_engine", f"{drain_ns} ns added to a drain",
        [*flags, f"--rounds={settings.rounds}",
         f"--schemes={','.join(settings.schemes)}"], preload=drain_ns > 0)
    rows = measured["measurements"]
    theirs = [s for s in settings.schemes if s in OF_LIBPMEMOBJ]
    if drain_ns == 0 and theirs:
      counted = self._run("bench_engine", "libpmemobj's flushes, not timed",
                          [*flags, "--rounds=1",
                           f"--schemes={','.join(theirs)}"], preload=True)
      add_counts(rows, counted["measurements"])
    self.results["engine"] += [{"drain_ns": drain_ns, **row} for row in rows]

  def _figures(self):
    settings = self._settings
    flags = figure_flags(settings)
    measured = self._run("bench_schemes", "figures", flags, preload=False)
    if lists_any("bench_schemes", flags, preload=True):
      measured["points"] += self._run("bench_schemes", "libpmemobj watched",
                                      flags, preload=True)["points"]
    self.results["points"] = measured["points"]

  def _crashes(self):
    flags = ["--quick"] if self._settings.quick else []
    self.results["crash_model"] = self._run(
        "bench_crash_model", "crashes through a cache", flags, preload=False)


# --- The program.


def known(words, names, what):
  for word in words:
    if word not in names:
      raise argparse.ArgumentTypeError(f"'{word}' is no {what}")
  return words


def parse(words):
  parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
  parser.add_argument("--quick", action="store_true",
                      help="less data and fewer rounds: under three minutes")
  parser.add_argument("--json", action="store_true", help="print the results")
  parser.add_argument("--out", help="write them to this file")
  parser.add_argument("--schemes", type=lambda t: t.split(","), default=STORES,
                      metavar="NAME,...",
                      help=f"stores (default: {','.join(STORES)})")
  parser.add_argument("--parts", default=list(PARTS),
                      type=lambda t: known(t.split(","), PARTS, "part"),
                      metavar="PART,...",
                      help=f"some of {','.join(PARTS)} (default: all)")
  parser.add_argument("--only", default="",
                      help="figures that this matches a part of")
  parser.add_argument("--drains", type=lambda t: [int(n) for n in t.split(",")],
                      metavar="NS,...",
                      help="added to each drain (default: 0,110,250,500,1000)")
  parser.add_argument("--rounds", type=int, help="of the table of all schemes")
  parser.add_argument("--slice_ms", type=int, help="of each store in a round")
  parser.add_argument("--part_rounds", type=int, help="of the figures")
  parser.add_argument("--folder", default="/dev/shm",
                      help="where pool files are put")
  parser.add_argument("--wrap_model", metavar="FILE",
                      help="rows of WrAP's timing model, to be put beside")
  parser.add_argument("--crash_model", metavar="FILE",
                      help="what bench_crash_model has written, instead of "
                           "running it: Archapt's table 4")
  settings = parser.parse_args(words)
  settings.drains = settings.drains or DRAINS_NS[settings.quick]
  settings.rounds = settings.rounds or ROUNDS[settings.quick]
  settings.slice_ms = settings.slice_ms or SLICE_MS[settings.quick]
  settings.part_rounds = settings.part_rounds or PART_ROUNDS[settings.quick]
  return settings


def main(words):
  signal.signal(signal.SIGTERM, signal.default_int_handler)
  settings = parse(words)
  try:
    bench = Bench(settings)
    bench.run()
    text = json.dumps(bench.results, indent=1, ensure_ascii=False,
                      allow_nan=False) + "\n"
    if settings.out:
      with open(settings.out, "w", encoding="utf-8") as file:
        file.write(text)
    sys.stdout.write(text if settings.json
                     else schemes_report.as_text(bench.results))
  except (BenchError, OSError, ValueError, KeyError) as error:
    print(f"schemes: {error}", file=sys.stderr)
    return 1
  except KeyboardInterrupt:
    return 130
  return 0


if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
