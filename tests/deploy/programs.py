"""Programs that a test puts in place of real ones."""

import os
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.realpath(__file__))))


class ProgramTest(unittest.TestCase):
  """Has a folder `bin` of its own, first in PATH, and a log of calls."""

  def setUp(self):
    self.folder = tempfile.mkdtemp(prefix="kamino-test-")
    self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
    self.bin = os.path.join(self.folder, "bin")
    os.mkdir(self.bin)
    self.environment = dict(
        os.environ, PATH=f"{self.bin}:{os.environ['PATH']}",
        CALLS=os.path.join(self.folder, "calls"))

  def program(self, name, text):
    """Makes an executable; its first line says what runs it."""
    path = os.path.join(self.bin, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
      f.write(text)
    os.chmod(path, 0o755)
    return path

  def recorder(self, name, then="exit 0"):
    """A program that writes down how it was called."""
    return self.program(
        name, f'#!/bin/sh\necho "{name} $*" >>"$CALLS"\n{then}\n')

  def calls(self):
    try:
      with open(self.environment["CALLS"], encoding="utf-8") as f:
        return f.read().splitlines()
    except FileNotFoundError:
      return []

  def run_script(self, path, *arguments, **environment):
    """Runs a script of the tree; its output has stderr in it."""
    return subprocess.run(
        [os.path.join(ROOT, path), *arguments],
        env=dict(self.environment, **environment), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False)
