"""The failover bench: its figures, its words, and its errors."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.realpath(__file__)))))
PROGRAM = os.path.join(ROOT, "bench", "failover", "failover.py")
sys.path.insert(0, os.path.dirname(PROGRAM))
# pylint: disable=wrong-import-position
import failover
from acknowledged import AckWatch
from rig import Rig

FAILURE_TIMEOUT_MS = 1000


def run(*words):
  return subprocess.run([sys.executable, "-B", PROGRAM, *words],
                        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                        text=True, check=False)


class WordsTest(unittest.TestCase):

  def test_help(self):
    done = run("--help")
    self.assertEqual(done.returncode, 0)
    for flag in ("--quick", "--json", "--out", "--failure_timeout_ms"):
      self.assertIn(flag, done.stdout)

  def test_bad_flags_are_refused(self):
    for words in (["--heaps_mb=big"], ["--heaps_mb=8"], ["--rounds=0"],
                  ["--only=nothing"], ["surplus"]):
      done = run(*words)
      self.assertEqual(done.returncode, 2, words)
      self.assertIn("error:", done.stderr)


class FiguresTest(unittest.TestCase):

  def test_a_stall_ends_with_the_next_write(self):
    rig = Rig.__new__(Rig)
    class Watch(AckWatch):
      def poll(self):
        pass
    rig._watch = Watch("")  # pylint: disable=protected-access
    rig._watch.acks = [10.0, 10.1, 10.35, 10.4, 20.0]
    self.assertAlmostEqual(rig.stall_after(10.15, 0.4), 9.85)
    rig._watch.acks = [10.0, 10.1, 10.35, 10.4, 10.5, 20.0]
    self.assertAlmostEqual(rig.stall_after(10.15, 0.2), 0.2)
    self.assertAlmostEqual(rig.write_rate(10.0, 10.45), 4 / 0.45)
    # Where nothing was interrupted, when the longest gap ended says nothing.
    rig._watch.acks = [10.0, 10.01, 10.02, 14.0 - 0.02, 14.0, 20.0]
    rig._watch.acks[2:2] = [10.02 + i / 100 for i in range(396)]
    self.assertAlmostEqual(rig.longest_gap_after(10.0, 3.99), 0.02)
    self.assertAlmostEqual(rig.stall_after(10.0, 3.99), 4.0)

  def test_a_row_is_formatted(self):
    row = {"name": "kill head", "unit": "ms", "rounds": [3, 1, 2],
           "median": 2, "target": 250, "note": "why"}
    self.assertEqual(failover.line(row).split(),
                     ["kill", "head", "2", "1..3", "250", "ms", "why"])
    row.update(rounds=[3], median=3, target=None)
    self.assertEqual(failover.line(row).split(),
                     ["kill", "head", "3", "3..3", "ms", "why"])

  def test_a_disturbed_round_is_repeated(self):
    left = [failover.Disturbed("busy"), failover.Disturbed("busy")]
    def measure():
      if left:
        raise left.pop()
      return 5
    self.assertEqual(failover.Bench.round(measure), 5)
    left += [failover.Disturbed("busy")] * failover.ATTEMPTS
    with self.assertRaises(failover.Disturbed):
      failover.Bench.round(measure)


class KillsTest(unittest.TestCase):

  def test_every_role_is_killed(self):
    with tempfile.TemporaryDirectory() as folder:
      path = os.path.join(folder, "figures.json")
      done = run("--only=kills", "--rounds=1", "--json", f"--out={path}",
                 f"--failure_timeout_ms={FAILURE_TIMEOUT_MS}")
      self.assertEqual(done.returncode, 0, done.stderr)
      with open(path, encoding="utf-8") as f:
        self.assertEqual(json.load(f), json.loads(done.stdout))
    figures = {f["name"]: f for f in json.loads(done.stdout)["measurements"]}
    for role in ("head", "middle", "tail"):
      row = figures[f"kill {role} to next write"]
      self.assertEqual(len(row["rounds"]), 1)
      # Not before it can be known.
      self.assertGreater(row["median"], FAILURE_TIMEOUT_MS / 2)
    for name in ("no kill: without a write for",
                 "kill leader: without a write for"):
      self.assertIn(name, figures)
    self.assertIn("kill head to next write", done.stderr)


if __name__ == "__main__":
  unittest.main(verbosity=2)
