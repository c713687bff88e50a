"""The bench of connections: its words, its figures, and a small run."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.realpath(__file__)))))
PROGRAM = os.path.join(ROOT, "bench", "connections", "connections.py")
sys.path.insert(0, os.path.dirname(PROGRAM))
# pylint: disable=wrong-import-position
import connections

BENCH = os.path.join("bench", "connections", "bench_connections")
CHAIN = ["--seeds=127.0.0.1:1", "--processes=head:1"]


def run(*words, program=(sys.executable, "-B", PROGRAM)):
  return subprocess.run([*program, *words], stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE, text=True,
                        check=False)


def a_round(**changes):
  """A round of 1,000 connections that cost 2 KiB each, and nothing else."""
  figures = {"opened": 1000, "refused": None, "opening_s": 1, "lost": 0,
             "newcomer_ms": 2, "newcomer_error": None}
  for when in ("before", "with", "after"):
    figures.update({
        f"puts_per_s_{when}": 100, f"gets_per_s_{when}": 200,
        f"put_us_{when}": 10, f"get_us_{when}": 1,
        f"head_idle_processor_{when}": 0.01,
        f"kernel_bytes_{when}": 5 << 20, f"heap_bytes_{when}": 1 << 20})
    for role in ("head", "tail"):
      figures[f"{role}_own_bytes_{when}"] = 10 << 20
      figures[f"{role}_shared_bytes_{when}"] = 20 << 20
  figures["head_own_bytes_with"] += 1000 << 11
  return {**figures, **changes}


class WordsTest(unittest.TestCase):

  def test_help(self):
    done = run("--help")
    self.assertEqual(done.returncode, 0)
    for flag in ("--only", "--quick", "--json", "--out", "--nodes"):
      self.assertIn(flag, done.stdout)
    done = run("--help", program=[BENCH])
    self.assertEqual(done.returncode, 0)
    for flag in ("--measure", "--seeds", "--sessions", "--idle", "--window"):
      self.assertIn(flag, done.stdout)

  def test_bad_flags_are_refused(self):
    for words in (["--only=udp"], ["--only="], ["--nodes=1"]):
      done = run(*words)
      self.assertEqual(done.returncode, 2, words)
      self.assertIn("error:", done.stderr)
    for words in ([], ["--measure=udp", *CHAIN], ["--measure=tcp"],
                  ["--measure=tcp", *CHAIN, "--idle=0"],
                  ["--measure=sessions", *CHAIN, "--window=1025"],
                  ["--measure=tcp", "--seeds=127.0.0.1:1",
                   "--processes=head"]):
      done = run(*words, program=[BENCH])
      self.assertEqual(done.returncode, 2, words)
      self.assertIn("bench-connections: ", done.stderr)

  def test_too_few_descriptors_are_an_error(self):
    done = run("--measure=tcp", "--seeds=127.0.0.1:1",
               f"--processes=head:{os.getpid()}", "--idle=1000000",
               program=["sh", "-c", 'ulimit -n 1000 && exec "$@"', "sh",
                        BENCH])
    self.assertEqual(done.returncode, 1)
    self.assertIn("ulimit -Hn", done.stderr)

  def test_measures_are_parsed(self):
    self.assertEqual(connections.measures("tcp,sessions"), ["tcp", "sessions"])
    with self.assertRaises(argparse.ArgumentTypeError):
      connections.measures("tcp,")
    arguments, flags = connections.parse(["--quick", "--window=4"])
    self.assertTrue(arguments.quick)
    self.assertEqual(flags, ["--window=4"])
    self.assertIn("sessions", arguments.only)


class FiguresTest(unittest.TestCase):

  def row(self, *rounds, name="tcp"):
    return connections.row(name, {"facts": {"asked": "1000"},
                                  "rounds": list(rounds)})

  def test_the_cost_of_each_connection_is_computed(self):
    row = self.row(a_round())
    self.assertEqual(row["head_own_kib_each"], 2)
    self.assertEqual(row["head_own_kept_mib"], 0)
    self.assertEqual(row["tail_own_mib"], 0)
    self.assertEqual((row["puts_ratio"], row["gets_ratio"]), (1, 1))
    self.assertEqual((row["idle_percent"], row["newcomer_ms"]), (0, 2))

  def test_memory_that_is_not_released_is_shown(self):
    row = self.row(a_round(), a_round(head_own_bytes_with=20 << 20,
                                      head_own_bytes_after=18 << 20))
    self.assertEqual(row["head_own_mib"], 10)
    self.assertEqual(row["head_own_kept_mib"], 8)

  def test_targets(self):
    met = connections.targets([self.row(a_round(), name="sessions")])
    self.assertEqual([t["met"] for t in met], [True] * 3)
    missed = connections.targets([self.row(
        a_round(head_own_bytes_with=300 << 20, puts_per_s_with=90,
                gets_per_s_with=150), name="sessions")])
    self.assertEqual([t["met"] for t in missed], [False] * 3)

  def test_a_line_reports_refusals(self):
    text = connections.line(self.row(a_round(
        opened=64, refused="too many", newcomer_ms=None,
        newcomer_error="no more")))
    self.assertIn("no more than 64 of 1000: too many", text)
    self.assertIn("a new client is refused: no more", text)
    self.assertEqual(len(connections.title()), len(text.split("\n")[0]))


class RunTest(unittest.TestCase):

  def test_every_measure_runs(self):
    with tempfile.TemporaryDirectory() as folder:
      out = os.path.join(folder, "connections.json")
      done = run("--only=sessions,shm,tcp,grpc,grpc-streams", "--nodes=2",
                 "--heap_mb=64", "--sessions=40", "--connections=16",
                 "--idle=70", "--rounds=2", "--slice_ms=250", "--json",
                 f"--out={out}")
      self.assertEqual(done.returncode, 0, done.stderr)
      with open(out, encoding="utf-8") as file:
        self.assertEqual(json.load(file), json.loads(done.stdout))
    result = json.loads(done.stdout)
    rows = {row["measure"]: row for row in result["measurements"]}
    self.assertEqual(list(rows), ["sessions", "shm", "tcp", "grpc",
                                  "grpc-streams"])
    self.assertEqual(rows["sessions"]["opened"], 40)
    # Their slots.
    self.assertGreater(rows["sessions"]["heap_mib"], 40 * 16 * 128 / (1 << 20))
    self.assertEqual(rows["shm"]["opened"], 64)
    self.assertIsNotNone(rows["shm"]["refused"])
    for name in ("tcp", "grpc", "grpc-streams"):
      self.assertEqual(rows[name]["opened"], 70, rows[name])
      self.assertIsNone(rows[name]["refused"])
    for row in rows.values():
      self.assertIsNone(row["newcomer_error"])
      self.assertGreater(row["puts_per_s"], 0)
    for measured in result["runs"].values():
      self.assertEqual([r["lost"] for r in measured["rounds"]], [0, 0])
    self.assertIn("puts per second, with to without", done.stderr)


if __name__ == "__main__":
  unittest.main(verbosity=2)
