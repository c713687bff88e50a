"""tests/faults/edit: patches come back as they were edited, or it says why."""

import os
import shutil
import subprocess
import tempfile
import unittest

EDIT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "edit")
NAME = "replica/ring.cc"
SOURCE = """\
void Ring::Append() {
  Flush();
  Drain();
  Count();
  ++appended_;
}

void Ring::Clean() {
  ++cleaned_;
}
"""
FAULTY = SOURCE.replace(
    "  Drain();", '  if (!faults::FaultPlanted("not-drained")) Drain();')


class EditTest(unittest.TestCase):

  def setUp(self):
    self.tree = tempfile.mkdtemp(prefix="kamino-test-")
    self.addCleanup(shutil.rmtree, self.tree, ignore_errors=True)
    os.makedirs(self.path("tests/faults"))
    shutil.copy(EDIT, self.path("tests/faults/edit"))
    self.write(".clang-format",
               "BasedOnStyle: Google\nAllowShortFunctionsOnASingleLine: None\n")
    self.write(NAME, SOURCE)
    self.patch = f"tests/faults/{NAME}.patch"
    self.copy = f".faults/{NAME}"

  def path(self, name):
    return os.path.join(self.tree, name)

  def write(self, name, text):
    os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
    with open(self.path(name), "w", encoding="utf-8") as f:
      f.write(text)

  def read(self, name):
    with open(self.path(name), encoding="utf-8") as f:
      return f.read()

  def edit(self, *words, fails_with=None):
    done = subprocess.run(
        [self.path("tests/faults/edit"), *words], stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, check=False)
    if fails_with is None:
      self.assertEqual(done.returncode, 0, done.stdout)
    else:
      self.assertNotEqual(done.returncode, 0, done.stdout)
      self.assertIn(fails_with, done.stdout)
    return done.stdout

  def plant(self):
    self.edit(NAME)
    self.write(self.copy, FAULTY)
    self.edit("--write")

  def patched(self):
    """As the build makes it; None: it does not apply."""
    done = subprocess.run(
        ["patch", "--fuzz=0", "--force", "--reject-file=-", "--output=out",
         NAME, self.patch], cwd=self.tree, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, check=False)
    return self.read("out") if done.returncode == 0 else None

  def test_an_edited_copy_is_built(self):
    self.plant()
    self.assertEqual(self.read(NAME), SOURCE)
    self.assertEqual(self.patched(), FAULTY)
    self.assertFalse(os.path.exists(self.path(".faults")))
    self.edit(NAME)
    self.assertEqual(self.read(self.copy), FAULTY)

  def test_an_edited_copy_is_formatted(self):
    self.edit(NAME)
    self.write(self.copy, FAULTY.replace("  if (!faults::", "if( ! faults::"))
    self.edit("--write")
    self.assertEqual(self.patched(), FAULTY)

  def test_a_patch_without_faults_is_removed(self):
    self.plant()
    self.edit(NAME)
    self.write(self.copy, SOURCE)
    self.edit("--write")
    self.assertFalse(os.path.exists(self.path(self.patch)))

  def test_refresh_follows_the_source(self):
    self.plant()
    self.write(NAME, SOURCE.replace("++appended_", "appended_ += 1"))
    self.assertIsNone(self.patched())
    self.edit("--refresh")
    self.assertEqual(self.patched(),
                     FAULTY.replace("++appended_", "appended_ += 1"))
    self.edit("--refresh")

  def test_conflicts_are_left_to_the_editor(self):
    self.plant()
    self.write(NAME, SOURCE.replace("Drain();", "region_->Drain();"))
    self.edit("--refresh", fails_with=f"{self.copy}: has conflicts")
    self.assertIn('"not-drained"', self.read(self.copy))
    self.edit("--write", fails_with="conflicts left")
    self.edit(NAME, fails_with="is there already")
    right = FAULTY.replace("Drain();", "region_->Drain();")
    self.write(self.copy, right)
    self.edit("--write")
    self.assertEqual(self.patched(), right)

  def test_a_copy_of_an_older_source_is_refused(self):
    self.plant()
    self.edit(NAME)
    self.write(NAME, SOURCE + "\n// More.\n")
    self.edit("--write", fails_with="has changed since")

  def test_a_missing_source_is_reported(self):
    self.plant()
    os.remove(self.path(NAME))
    self.edit("--refresh", fails_with=f"there is no {NAME} any more")
    self.edit(NAME, fails_with=f"there is no {NAME}")

  def test_wrong_arguments_print_the_usage(self):
    for words in ([], ["--write", "--refresh"], [NAME, "--write"]):
      self.edit(*words, fails_with="name files, or --write, or --refresh")


if __name__ == "__main__":
  unittest.main()
