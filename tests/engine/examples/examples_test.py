"""The engine's examples do what their document shows."""

import os
import subprocess
import tempfile
import unittest

COUNTERS = os.path.join("engine", "examples", "counters")
LEDGER = os.path.join("engine", "examples", "workspace", "ledger")


def run(*words):
  return subprocess.run(words, capture_output=True, text=True, check=False)


class CountersTest(unittest.TestCase):

  def test_counters_persist_between_runs(self):
    with tempfile.TemporaryDirectory() as folder:
      for expected in ("-4000 4000\n", "-8000 8000\n"):
        done = run(COUNTERS, folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, expected)

  def test_a_missing_folder_is_an_error(self):
    done = run(COUNTERS, "/nowhere")
    self.assertEqual(done.returncode, 1)
    self.assertIn("/nowhere/heap", done.stderr)


class LedgerTest(unittest.TestCase):

  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.file = os.path.join(folder.name, "store")

  def lines_of(self, *words):
    done = run(LEDGER, *words)
    self.assertEqual(done.returncode, 0, done.stderr)
    return done.stdout.splitlines()

  # Opening reports this after the crash that `crash` makes, as the table in
  # docs/use/engine.md shows.
  def check(self, scheme, name, after_crash):
    nothing = "0 lines repaired, 0 objects lost"
    lines = self.lines_of(scheme, self.file, "crash")
    self.assertEqual(lines, [f"{name}: a new store", "durable: -100 100",
                             "ends with a transaction under way"])
    opened, durable, again = self.lines_of(scheme, self.file)
    self.assertRegex(
        opened, f"^{name}: opened; {after_crash}, {nothing}$")
    self.assertEqual(durable, "durable: -200 200")
    self.assertRegex(
        again, f"^{name}: opened; last sequence [0-9]+, 0 replayed, "
        f"0 rolled back, {nothing}$")

  def test_archapt(self):
    self.check("archapt", "archapt",
               "last sequence 100, 0 replayed, 1 rolled back")

  def test_wrap(self):
    # Those that were not home yet, which a thread brings there.
    self.check("wrap", "wrap",
               "last sequence 100, [0-9]+ replayed, 0 rolled back")

  def test_rewind(self):
    self.check("rewind", "rewind-1-noforce-batch",
               "last sequence 100, 100 replayed, [01] rolled back")

  def test_undo_own(self):
    self.check("undo-own", "undo-own",
               "last sequence 0, 0 replayed, 1 rolled back")

  def test_an_unknown_scheme_is_refused(self):
    done = run(LEDGER, "wrp", self.file)
    self.assertEqual(done.returncode, 1)
    self.assertIn('no scheme is called "wrp"', done.stderr)
    self.assertIn("rewind-2-force-simple", done.stderr)
    self.assertFalse(os.path.exists(self.file))

  def test_another_schemes_file_is_refused(self):
    self.lines_of("wrap", self.file)
    for scheme, name in (("archapt", "archapt"),
                         ("undo-object", "libpmemobj")):
      done = run(LEDGER, scheme, self.file)
      self.assertEqual(done.returncode, 1)
      self.assertEqual(
          done.stderr,
          f'ledger: {self.file} is a store of "wrap", not of "{name}"\n')


if __name__ == "__main__":
  unittest.main(verbosity=2)
