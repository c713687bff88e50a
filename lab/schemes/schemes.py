#!/usr/bin/python3
"""All atomicity schemes beside each other, and their papers' figures.

Runs bench_controller, bench_crash_model, bench_engine at several speeds of
memory, and bench_schemes; puts what came out together, and the papers' marks
beside it. lab/docs/schemes.md.
"""

import argparse
import datetime
import json
import os
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
# pylint: disable=wrong-import-position
import judge
import machine_load
import rivals_marks
# First: it adds the folder of the reports of benches.
import schemes_view
import model_origin
import page
import views

# The one place that says which stores take part; a name that a program does not
# know is an error.
STORES = ["kamino-simple", "kamino-dynamic", "undo-object", "undo-range",
          "undo-own", "undo-each", "cow", "rewind-1-noforce-batch",
          "rewind-1-force-batch", "rewind-2-noforce-batch", "wrap", "archapt",
          "unsafe", "unsafe-each", "cached"]
DRAINS_NS = {False: [0, 110, 250, 500, 1000], True: [0, 1000]}
# The table of all schemes: workloads at all speeds of memory, which take turns,
# and workloads at the machine's own speed alone. In the quick scale the latter
# includes workloads that mostly read, or take longest to load.
AT_ALL_SPEEDS = {
    False: r"^(micro/overwrite-bytes/hot/1/(64|1024|4096)|"
           r"ycsb/ycsb-[abf]/zipfian/1/1000|tpcc/tpcc-mix/nurand/1/0)$",
    True: r"^(micro/overwrite-bytes/hot/1/(64|1024|4096)|"
          r"ycsb/ycsb-[af]/zipfian/1/1000)$"}
AT_ONE_SPEED = {
    False: None,
    True: r"^(ycsb/ycsb-b/zipfian/1/1000|tpcc/tpcc-mix/nurand/1/0)$"}
ROUNDS = {False: 9, True: 3}
# Long beside what is put off and done at a slice's end, within its time.
SLICE_MS = {False: 100, True: 10}
# With fewer rounds there is no median.
PART_ROUNDS = {False: 5, True: 3}
PROGRAMS = {"bench_engine": "bench/engine/bench_engine",
            "bench_schemes": "lab/schemes/bench_schemes",
            "bench_crash_model": "lab/crash_model/bench_crash_model",
            "bench_controller": "lab/controller/bench_controller",
            "shim": "bench/pmem_shim/libpmem_shim.so"}
PARTS = ("model", "crashes", "summary", "figures")
# Where the results of a part of a run go, beside those of a whole one.
PARTIAL = "partial"
UNFINISHED = ".unfinished"
# Exit codes of a program that was interrupted or terminated.
INTERRUPTED = (128 + signal.SIGINT, 128 + signal.SIGTERM, -signal.SIGINT,
               -signal.SIGTERM)


class BenchError(Exception):
  """The bench cannot go on; the text is for people."""


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


def listed(name, flags, preload):
  """The program's list of its measurements, and its exit code."""
  done = subprocess.run([program(name), "--list", *flags],
                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                        env=environment_of(preload), check=False, text=True)
  return done.stderr.strip(), done.returncode


def commit_of(folder):
  """The commit of the measured programs; "unknown" outside a repository."""
  def git(*words):
    return subprocess.run(["git", "-C", folder, *words], check=True, text=True,
                          stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL).stdout.strip()
  try:
    return (git("rev-parse", "--short=12", "HEAD")
            + (", and changes" if git("status", "--porcelain",
                                      "--untracked-files=no") else ""))
  except (OSError, subprocess.CalledProcessError):
    return "unknown"


def figure_flags(settings):
  """Flags of bench_schemes, which does not ignore an empty word."""
  return [f"--schemes={','.join(settings.schemes)}",
          f"--rounds={settings.part_rounds}", f"--folder={settings.folder}",
          *([f"--only={settings.only}"] if settings.only else []),
          *(["--quick"] if settings.quick else [])]


# --- What is given.


def read_model(path, check):
  """Another program's results: JSON that `check` accepts."""
  try:
    with open(path, encoding="utf-8") as file:
      model = json.load(file)
    made = list(check(model))
  except OSError as error:
    raise BenchError(f"{path}: {error.strerror}") from error
  except ValueError as error:
    raise BenchError(f"{path} is not JSON: {error}") from error
  except (KeyError, TypeError, AttributeError) as error:
    raise BenchError(f"{path} has not the form that is needed: "
                     f"{error!r}") from error
  if not made:
    raise BenchError(f"{path} has neither rows nor figures")
  return model


def wrap_tables(model):
  return list(views.tables_of("", model))


def crash_tables(model):
  marks_of_it = list(rivals_marks.of_crashes(model))
  return wrap_tables(model) if marks_of_it else []


CHECKS = {model_origin.WRAP: wrap_tables, model_origin.CRASH: crash_tables}


def models_given(settings):
  """The files that there are, by model."""
  given = {model_origin.WRAP: settings.wrap_model,
           model_origin.CRASH: settings.crash_model}
  return {name: path for name, path in given.items() if path}


def check_folder(path, what):
  if not os.path.isdir(path):
    raise BenchError(f"{what}: there is no folder {path}")
  if not os.access(path, os.W_OK):
    raise BenchError(f"{what}: {path} cannot be written to")


def check(settings):
  """All that can be known to be wrong before anything is measured.

  Returns the models that were given, by name.
  """
  check_folder(settings.folder, "--folder")
  if settings.out:
    check_folder(os.path.dirname(os.path.abspath(settings.out)), "--out")
    if os.path.isdir(settings.out):
      raise BenchError(f"--out: {settings.out} is a folder")
  if settings.pages:
    check_folder(settings.pages, "--pages")
  models = {name: read_model(path, CHECKS[name])
            for name, path in models_given(settings).items()}
  for name in PROGRAMS:
    program(name)
  flags = [f"--schemes={','.join(settings.schemes)}"]
  if "figures" in settings.parts and settings.only:
    flags.append(f"--only={settings.only}")
  said, code = listed("bench_schemes", flags, preload=False)
  if code != 0:
    reason = said.split(": ", 1)[-1]
    if "nothing to measure" in reason and settings.only:
      reason += (f" (--only as it came here: {settings.only}; the parts: "
                 "bazel-bin/lab/schemes/bench_schemes --list)")
    raise BenchError(reason)
  return models


def what_part(settings):
  """The part of a whole run that was asked for, in words; "": all of it."""
  asked = []
  if settings.parts != list(PARTS):
    asked.append("--parts=" + ",".join(settings.parts))
  if settings.only:
    asked.append(f"--only={settings.only}")
  if settings.schemes != STORES:
    asked.append("--schemes=" + ",".join(settings.schemes))
  if settings.drains != DRAINS_NS[settings.quick]:
    asked.append("--drains=" + ",".join(map(str, settings.drains)))
  return " ".join(asked)


# --- Running.


class Bench:
  """Runs all, and keeps what came out."""

  def __init__(self, settings, models):
    self._settings = settings
    now = datetime.datetime.now(datetime.timezone.utc)
    self.results = {
        "bench": "schemes",
        "facts": {"date": f"{now:%Y-%m-%d %H:%M} UTC",
                  "commit": commit_of(ROOT),
                  "rounds": f"{settings.rounds} of the table of all schemes, "
                            f"{settings.part_rounds} of figures"},
        "stores": settings.schemes, "part_of_a_run": what_part(settings),
        "last_level_cache": machine_load.last_level_cache(),
        "loads": [], "engine": [], "points": [], "marks": [],
        "marks_left_out": 0, "wrap_model": None, "crash_model": None, **models,
        "given": {name: model_origin.origin_of(path)
                  for name, path in models_given(settings).items()}}

  def run(self):
    settings = self._settings
    # First: whatever cannot be computed here is known after seconds.
    if "model" in settings.parts and not settings.wrap_model:
      self._model()
    # If recovery goes by something that is wrong, nothing else matters.
    if "crashes" in settings.parts and not settings.crash_model:
      self._crashes()
    if "summary" in settings.parts:
      self._summary()
    if "figures" in settings.parts:
      self._figures()

  def judge(self):
    judge.judge(self.results)

  def _run(self, name, what, flags, preload):
    """Runs a program; returns what it wrote."""
    with tempfile.TemporaryDirectory() as folder:
      out = os.path.join(folder, "out.json")
      environment = environment_of(preload)
      print(f"schemes: {name}, {what}", file=sys.stderr)
      before = machine_load.read_ticks()
      own = machine_load.children_ticks()
      with subprocess.Popen(
          [program(name), *flags, f"--out={out}"],
          stdout=subprocess.DEVNULL, env=environment) as running:
        try:
          code = running.wait()
        except BaseException:
          running.terminate()
          running.wait()
          raise
      load = machine_load.load_between(
          before, machine_load.read_ticks(),
          machine_load.children_ticks() - own, os.cpu_count())
      # Ctrl-C interrupts all programs of a terminal.
      if code in INTERRUPTED:
        raise KeyboardInterrupt
      if code != 0:
        raise BenchError(f"{name} ended with {code}")
      with open(out, encoding="utf-8") as file:
        measured = json.load(file)
    self.results["loads"].append({"run": f"{name}, {what}", **load})
    for fact in ("processor", "processors", "medium", "scale"):
      if fact in measured["facts"]:
        self.results["facts"][fact] = measured["facts"][fact]
    return measured

  def _summary(self):
    """The table of all schemes; of tunings there are figures."""
    settings = self._settings
    stores = [s for s in settings.schemes if "+" not in s and "@" not in s]
    if not stores:
      return
    parts = [(AT_ALL_SPEEDS[settings.quick], settings.drains)]
    if 0 in settings.drains and AT_ONE_SPEED[settings.quick]:
      parts.append((AT_ONE_SPEED[settings.quick], [0]))
    for only, drains in parts:
      drains = ",".join(map(str, drains))
      # All stores' data has to be in memory at once: the quick scale's has.
      # The preloaded library counts and slows libpmemobj's flushes.
      self.results["engine"] += self._run(
          "bench_engine", f"{drains} ns added to a drain",
          ["--quick", f"--only={only}", f"--pmem_delay_drain_ns={drains}",
           f"--slice_ms={settings.slice_ms}", f"--rounds={settings.rounds}",
           f"--folder={settings.folder}", f"--schemes={','.join(stores)}",
           *(["--least_data"] if settings.quick else [])],
          preload=True)["measurements"]

  def _figures(self):
    settings = self._settings
    flags = figure_flags(settings)
    measured = self._run("bench_schemes", "figures", flags, preload=False)
    if listed("bench_schemes", flags, preload=True)[1] == 0:
      measured["points"] += self._run("bench_schemes", "libpmemobj watched",
                                      flags, preload=True)["points"]
    self.results["points"] = measured["points"]

  def _model(self):
    settings = self._settings
    flags = [f"--folder={settings.folder}",
             *(["--quick"] if settings.quick else [])]
    self.results[model_origin.WRAP] = self._run(
        "bench_controller", "WrAP's timing model", flags, preload=False)

  def _crashes(self):
    flags = ["--quick"] if self._settings.quick else []
    self.results[model_origin.CRASH] = self._run(
        "bench_crash_model", "crashes through a cache", flags, preload=False)


# --- The program.


def known(words, names, what):
  for word in words:
    if word not in names:
      raise argparse.ArgumentTypeError(f"'{word}' is no {what}")
  return words


def names(text):
  found = text.split(",")
  if not all(name.strip() == name and name for name in found):
    raise argparse.ArgumentTypeError(f"'{text}' is no list of names")
  return found


def at_least(least):
  """The type of a whole number."""
  def number(text):
    try:
      value = int(text)
    except ValueError:
      value = least - 1
    if value < least:
      raise argparse.ArgumentTypeError(
          f"'{text}' is no whole number from {least} on")
    return value
  return number


def each_once(one):
  """The type of several, with commas, none of which stands there twice."""
  def several(text):
    found = [one(word) for word in text.split(",")]
    if len(set(found)) < len(found):
      raise argparse.ArgumentTypeError(f"'{text}' has one twice")
    return found
  return several


def parse(words):
  parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
  parser.add_argument("--quick", action="store_true",
                      help="less data, fewer rounds and figures: under three "
                           "minutes where nothing else runs")
  parser.add_argument("--json", action="store_true", help="print the results")
  parser.add_argument("--out", metavar="FILE", help="write them to this file")
  parser.add_argument("--pages", metavar="FOLDER",
                      help="write schemes.json and its report to this folder; "
                           f"to '{PARTIAL}' in it where parts, figures, "
                           "stores or drains were chosen")
  parser.add_argument("--schemes", type=names, default=STORES,
                      metavar="NAME,...",
                      help="stores of the table of all schemes, and of figures "
                           "that have all of them; figures about REWIND, WrAP "
                           "and Archapt are left out where it has none of the "
                           f"scheme's (default: {','.join(STORES)})")
  parser.add_argument("--parts", default=list(PARTS),
                      type=lambda t: known(names(t), PARTS, "part"),
                      metavar="PART,...",
                      help=f"some of {','.join(PARTS)} (default: all); model "
                           "is WrAP's timing model, crashes Archapt's table 4: "
                           "whatever --only and --schemes are")
  parser.add_argument("--only", default="",
                      help="figures that this matches a part of")
  parser.add_argument("--drains", metavar="NS,...",
                      type=each_once(at_least(0)),
                      help="added to each drain (default: 0,110,250,500,1000)")
  parser.add_argument("--rounds", type=at_least(1),
                      help="of the table of all schemes")
  parser.add_argument("--slice_ms", type=at_least(1),
                      help="of each store in a round")
  parser.add_argument("--part_rounds", type=at_least(1), help="of the figures")
  parser.add_argument("--folder", default="/dev/shm",
                      help="where pool files are put")
  parser.add_argument("--wrap_model", metavar="FILE",
                      help="what bench_controller has written, or rows of "
                           "another program, instead of running it: WrAP's "
                           "timing model")
  parser.add_argument("--crash_model", metavar="FILE",
                      help="what bench_crash_model has written, instead of "
                           "running it: Archapt's table 4")
  settings = parser.parse_args(words)
  settings.drains = settings.drains or DRAINS_NS[settings.quick]
  settings.rounds = settings.rounds or ROUNDS[settings.quick]
  settings.slice_ms = settings.slice_ms or SLICE_MS[settings.quick]
  settings.part_rounds = settings.part_rounds or PART_ROUNDS[settings.quick]
  return settings


def as_json(results):
  return json.dumps(results, indent=1, ensure_ascii=False,
                    allow_nan=False) + "\n"


def write(path, results):
  with open(path, "w", encoding="utf-8") as file:
    file.write(as_json(results))


def pages_of(settings):
  """The folder, which there is then."""
  if not what_part(settings):
    return settings.pages
  folder = os.path.join(settings.pages, PARTIAL)
  os.makedirs(folder, exist_ok=True)
  return folder


def run(settings):
  bench = Bench(settings, check(settings))
  pages = pages_of(settings) if settings.pages else None
  files = [path for path in (
      settings.out, pages and os.path.join(pages, "schemes.json")) if path]
  try:
    bench.run()
  except BaseException:
    # Not in place of what a whole run has left.
    for path in files:
      write(path + UNFINISHED, bench.results)
      print(f"schemes: what was measured until then is in {path}{UNFINISHED}",
            file=sys.stderr)
    raise
  # The results took long: keep them even when judging or reporting fails.
  for path in files:
    write(path, bench.results)
  bench.judge()
  for path in files:
    write(path, bench.results)
  if pages:
    page.write(schemes_view.report(bench.results), "schemes", pages)
  if settings.json:
    sys.stdout.write(as_json(bench.results))
    return
  sys.stdout.write(schemes_view.text(bench.results))
  made = [*files, *(os.path.join(pages, name) for name in
                    ("schemes.md", "schemes-*.svg") if pages)]
  if made:
    print("\n".join(["", *made]))


def main(words):
  signal.signal(signal.SIGTERM, signal.default_int_handler)
  settings = parse(words)
  try:
    run(settings)
  except (BenchError, OSError, ValueError, KeyError) as error:
    print(f"schemes: {error}", file=sys.stderr)
    return 1
  except KeyboardInterrupt:
    return 130
  return 0


if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
