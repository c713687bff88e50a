"""The demo that README begins with ends well."""

import os
import subprocess
import unittest

from harness import ROOT, main, patience


class DemoTest(unittest.TestCase):

  def test_the_demo_succeeds(self):
    done = subprocess.run([os.path.join(ROOT, "deploy", "local", "demo")],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=patience(180), check=False)
    self.assertEqual(done.returncode, 0, done.stdout[-4000:])
    self.assertIn("All of it holds", done.stdout)


if __name__ == "__main__":
  main()
