"""simulate_main: its flags, and the errors that it reports before it runs."""

import os
import re
import signal
import subprocess
import unittest

PROGRAM = "tests/simulation/simulate_main"


def run(*words):
  return subprocess.run([PROGRAM, *words], stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE, text=True,
                        check=False)


class CommandLineTest(unittest.TestCase):

  def test_help(self):
    done = run("--help")
    self.assertEqual(done.returncode, 0, done.stderr)
    for text in ("simulate_main --seeds=1000", "--first", "--trace"):
      self.assertIn(text, done.stdout)

  def test_bad_arguments_are_refused_before_the_run(self):
    # This many seeds would not end in time.
    for words, text in ((["--sedes=3"], "sedes"), (["--seeds=x"], "seeds"),
                        (["stray"], "unexpected argument stray"),
                        (["--fault=nope"], 'no fault is named "nope"')):
      done = run("--seeds=1000000000", *words)
      self.assertEqual(done.returncode, 2, (words, done.stderr))
      self.assertIn(text, done.stderr)
      self.assertEqual(done.stdout, "")

  def test_a_known_fault_is_accepted(self):
    done = run("--seeds=1", "--fault=membership-leases-too-long")
    self.assertNotIn("no fault is named", done.stderr)

  def test_a_seed_that_ends_its_process_is_named(self):
    with subprocess.Popen([PROGRAM, "--first=7", "--seeds=1000000000",
                           "--jobs=1", "--mode=images"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True) as simulator:
      children = f"/proc/{simulator.pid}/task/{simulator.pid}/children"
      child = ""
      while not child and simulator.poll() is None:
        with open(children, encoding="ascii") as f:
          child = f.read().strip()
      os.kill(int(child), signal.SIGSEGV)
      told = simulator.communicate()[0]
    self.assertEqual(simulator.returncode, 1, told)
    seed = re.match(rf"seed (\d+): process {child} of the simulator died of it",
                    told)
    self.assertIsNotNone(seed, told)
    self.assertGreaterEqual(int(seed[1]), 7)
    self.assertIn(f"FIRST={seed[1]} TRACE=1 MODE=images", told)


if __name__ == "__main__":
  unittest.main(verbosity=2)
