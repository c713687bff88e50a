"""The engine's example does what its document shows."""

import os
import subprocess
import tempfile
import unittest

PROGRAM = os.path.join("engine", "examples", "counters")


class ExamplesTest(unittest.TestCase):

  def test_counters_stay_from_run_to_run(self):
    with tempfile.TemporaryDirectory() as folder:
      for expected in ("-4000 4000\n", "-8000 8000\n"):
        done = subprocess.run([PROGRAM, folder], capture_output=True,
                              text=True, check=True)
        self.assertEqual(done.stdout, expected)

  def test_a_folder_that_is_not_there(self):
    done = subprocess.run([PROGRAM, "/nowhere"], capture_output=True,
                          text=True, check=False)
    self.assertEqual(done.returncode, 1)
    self.assertIn("/nowhere/heap", done.stderr)


if __name__ == "__main__":
  unittest.main(verbosity=2)
