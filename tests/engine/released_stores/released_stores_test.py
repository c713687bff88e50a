"""Stores that releases have left after a crash are opened by this tree.

Of each release in releases.toml there is a folder, with the file of each store
(and its backup), compressed, and stores.txt: the scheme and its objects' ids.
A release that is new gets one by its own program:

  bazel build //tests/engine/released_stores:stored
  tests/engine/released_stores/released_stores_test.py --write VERSION
"""

import lzma
import os
import signal
import subprocess
import sys
import tempfile
import tomllib
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__)))))
HERE = os.path.join(ROOT, "tests", "engine", "released_stores")
BUILT = os.path.join("tests", "engine", "released_stores", "stored")
# libpmemobj's stores are PMDK's to read, and "unsafe" recovers nothing.
SCHEMES = (["kamino-simple", "kamino-dynamic", "undo-own", "cow", "wrap",
            "archapt"] +
           [f"rewind-{layers}-{policy}-{form}" for layers in (1, 2)
            for policy in ("noforce", "force")
            for form in ("batch", "optimized", "simple")])
# Schemes that a release lacks.
NOT_YET = {"0.1.0": ("wrap", "archapt")}
PARTS = ("", ".backup")


def _program():
  program = os.path.join(
      os.environ.get("KAMINO_BIN_ROOT", os.path.join(ROOT, "bazel-bin")), BUILT)
  if not os.access(program, os.X_OK):
    raise FileNotFoundError(f"{program} is not built")
  return program


def _releases():
  with open(os.path.join(ROOT, "releases.toml"), "rb") as f:
    return [each["version"] for each in tomllib.load(f)["release"]]


def _schemes(version):
  return [name for name in SCHEMES if name not in NOT_YET.get(version, ())]


def _write(scheme, file):
  """Makes a store that has crashed; returns its objects' ids."""
  done = subprocess.run([_program(), "write", scheme, file], check=False,
                        stdout=subprocess.PIPE, text=True)
  if done.returncode != -signal.SIGKILL:
    raise RuntimeError(f"{scheme}: ended with {done.returncode}")
  return done.stdout.split()


def _check(scheme, file, ids):
  return subprocess.run([_program(), "check", scheme, file, *ids], check=False,
                        stderr=subprocess.PIPE, text=True)


def write(version):
  """Writes the stores of `version`, the version of this tree."""
  folder = os.path.join(HERE, version)
  os.mkdir(folder)
  with (tempfile.TemporaryDirectory() as stores,
        open(os.path.join(folder, "stores.txt"), "w", encoding="ascii") as f):
    for scheme in _schemes(version):
      file = os.path.join(stores, scheme)
      print(scheme, *_write(scheme, file), file=f)
      for part in PARTS:
        if not os.path.exists(file + part):
          continue
        with open(file + part, "rb") as made:
          packed = lzma.compress(made.read(), preset=9)
        with open(os.path.join(folder, f"{scheme}{part}.xz"), "wb") as kept:
          kept.write(packed)


class ReleasedStoresTest(unittest.TestCase):

  def setUp(self):
    self.folder = tempfile.TemporaryDirectory()
    self.addCleanup(self.folder.cleanup)

  def unpacked(self, release, scheme):
    file = os.path.join(self.folder.name, scheme)
    for part in PARTS:
      packed = os.path.join(HERE, release, f"{scheme}{part}.xz")
      if os.path.exists(packed):
        with lzma.open(packed) as made, open(file + part, "wb") as f:
          f.write(made.read())
    return file

  def stores(self, release):
    with open(os.path.join(HERE, release, "stores.txt"),
              encoding="ascii") as f:
      return {line.split()[0]: line.split()[1:] for line in f}

  def test_every_release_has_its_stores(self):
    for release in _releases():
      with self.subTest(release):
        self.assertEqual(sorted(self.stores(release)),
                         sorted(_schemes(release)))

  def test_stores_of_releases_are_opened(self):
    for release in _releases():
      for scheme, ids in self.stores(release).items():
        with self.subTest(release=release, scheme=scheme):
          file = self.unpacked(release, scheme)
          done = _check(scheme, file, ids)
          self.assertEqual(done.returncode, 0, done.stderr)

  def test_stores_of_this_tree_are_opened(self):
    for scheme in SCHEMES:
      with self.subTest(scheme):
        file = os.path.join(self.folder.name, scheme)
        done = _check(scheme, file, _write(scheme, file))
        self.assertEqual(done.returncode, 0, done.stderr)

  def test_a_check_can_fail(self):
    file = os.path.join(self.folder.name, "store")
    ids = _write("cow", file)
    done = _check("cow", file, [ids[1], ids[0], *ids[2:]])
    self.assertEqual(done.returncode, 1)
    self.assertIn("object 0 is not as it was committed last", done.stderr)


if __name__ == "__main__":
  if sys.argv[1:2] == ["--write"] and len(sys.argv) == 3:
    write(sys.argv[2])
  else:
    unittest.main()
