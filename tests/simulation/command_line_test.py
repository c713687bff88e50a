"""simulate_main: what it is asked, and what it refuses before it runs."""

import subprocess
import unittest

PROGRAM = "tests/simulation/simulate_main"


def run(*words):
  return subprocess.run([PROGRAM, *words], stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE, text=True, timeout=60,
                        check=False)


class CommandLineTest(unittest.TestCase):

  def test_help(self):
    done = run("--help")
    self.assertEqual(done.returncode, 0, done.stderr)
    for text in ("simulate_main --seeds=1000", "--first", "--trace"):
      self.assertIn(text, done.stdout)

  def test_what_is_refused_before_it_runs(self):
    # So many seeds would not end in time.
    for words, text in ((["--sedes=3"], "sedes"), (["--seeds=x"], "seeds"),
                        (["stray"], "unexpected argument stray"),
                        (["--fault=nope"], 'no fault is named "nope"')):
      done = run("--seeds=1000000000", *words)
      self.assertEqual(done.returncode, 2, (words, done.stderr))
      self.assertIn(text, done.stderr)
      self.assertEqual(done.stdout, "")

  def test_a_fault_that_there_is(self):
    done = run("--seeds=1", "--fault=membership-leases-too-long")
    self.assertNotIn("no fault is named", done.stderr)


if __name__ == "__main__":
  unittest.main(verbosity=2)
