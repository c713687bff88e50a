"""bench-crash-model as a program: its rows, and what it refuses."""

import json
import os
import subprocess
import tempfile
import unittest

PROGRAM = os.path.join("lab", "crash_model", "bench_crash_model")


def run(*flags):
  return subprocess.run([PROGRAM, *flags], stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE, text=True, check=False)


class ProgramTest(unittest.TestCase):

  def test_every_workload_has_a_row(self):
    with tempfile.TemporaryDirectory() as folder:
      out = os.path.join(folder, "crashes.json")
      done = run("--quick", "--crashes=5", f"--out={out}")
      self.assertEqual(done.returncode, 0, done.stderr)
      with open(out, encoding="utf-8") as file:
        measured = json.load(file)
    self.assertEqual(
        [(row["queue"], row["workload"]) for row in measured["rows"]],
        [(queue, f"ycsb-{letter}") for queue in (1, 2) for letter in "abdef"])
    self.assertEqual(measured["facts"]["cache"], "985 KiB, 11 ways")
    for row in measured["rows"]:
      self.assertEqual(row["crashes"], 5)
      self.assertEqual(row["found"], row["inconsistent"], row)
      self.assertEqual(row["wrong"] + row["lost_needlessly"], 0, row)
    self.assertIn("ycsb-f: 5 crashes", done.stderr)
    self.assertIn("inconsistent", done.stdout)

  def test_json_depends_only_on_the_seed(self):
    flags = ("--quick", "--crashes=3", "--workloads=a", "--queues=1", "--json")
    first = run(*flags)
    self.assertEqual(first.returncode, 0, first.stderr)
    self.assertEqual(len(json.loads(first.stdout)["rows"]), 1)
    self.assertEqual(run(*flags).stdout, first.stdout)
    self.assertNotEqual(run(*flags, "--seed=2").stdout, first.stdout)

  def test_help_and_bad_flags(self):
    done = run("--help")
    self.assertEqual(done.returncode, 0)
    for flag in ("--crashes", "--seed", "--json", "--queues", "--quick"):
      self.assertIn(flag, done.stdout)
    for flag in ("--workloads=c", "--crashes=0", "--queues=0", "--ways=none"):
      done = run(flag)
      self.assertEqual(done.returncode, 2, flag)
      self.assertIn(flag.split("=")[0], done.stderr)
    done = run("--quick", "--crashes=1", "--workloads=d", "--queues=1",
               "--out=/nowhere/at/all")
    self.assertEqual(done.returncode, 1)
    self.assertIn("/nowhere/at/all", done.stderr)


if __name__ == "__main__":
  unittest.main()
