"""The image for containers: its parts fit, the same content gives the same
bytes, and it has what the programs need, with an unprivileged user's rights."""

import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.realpath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "deploy", "image"))
# pylint: disable=wrong-import-position
import build

BINARIES = os.environ.get("KAMINO_BIN_ROOT") or os.path.join(ROOT, "bazel-bin")


class ImageTest(unittest.TestCase):

  @classmethod
  def setUpClass(cls):
    folder = tempfile.TemporaryDirectory(prefix="kamino-test-")
    cls.addClassCleanup(folder.cleanup)
    cls.archives = []
    for name in ("a", "b"):
      path = os.path.join(folder.name, name)
      cls.digest = build.build(BINARIES, path, "localhost/kamino:test")
      with open(path, "rb") as f:
        cls.archives.append(f.read())
    with tarfile.open(fileobj=io.BytesIO(cls.archives[0])) as tar:
      cls.files = {m.name: tar.extractfile(m).read() for m in tar}

  def blob(self, descriptor):
    algorithm, digest = descriptor["digest"].split(":")
    content = self.files[f"blobs/{algorithm}/{digest}"]
    self.assertEqual(hashlib.sha256(content).hexdigest(), digest)
    self.assertEqual(len(content), descriptor["size"])
    return content

  def image(self):
    index = json.loads(self.files["index.json"])
    self.assertEqual(index["manifests"][0]["digest"], self.digest)
    manifest = json.loads(self.blob(index["manifests"][0]))
    return manifest, json.loads(self.blob(manifest["config"]))

  def test_builds_are_reproducible(self):
    self.assertEqual(*self.archives)

  def test_layers_match_the_configuration(self):
    manifest, config = self.image()
    layers = [gzip.decompress(self.blob(l)) for l in manifest["layers"]]
    self.assertEqual(
        ["sha256:" + hashlib.sha256(l).hexdigest() for l in layers],
        config["rootfs"]["diff_ids"])
    self.assertEqual(config["config"]["User"], "64000:64000")

  def test_programs_run_on_the_files_of_the_image(self):
    manifest, _ = self.image()
    with tempfile.TemporaryDirectory(prefix="kamino-test-") as root:
      for layer in manifest["layers"]:
        with tarfile.open(fileobj=io.BytesIO(self.blob(layer))) as tar:
          tar.extractall(root)
      for program in ("kamino", "kamino_manager", "kamino_node"):
        done = subprocess.run(
            [f"{root}/{build.LOADER.replace('lib64', 'usr/lib64')}",
             "--inhibit-cache", "--library-path", f"{root}/{build.LIBRARIES}",
             f"{root}/usr/bin/{program}", "--version"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn(build.version(), done.stdout)


if __name__ == "__main__":
  unittest.main(verbosity=2)
