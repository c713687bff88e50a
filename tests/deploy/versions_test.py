"""Facts that stand in several places are the same everywhere."""

import os
import re
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.realpath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "kubernetes"))
# pylint: disable=wrong-import-position
import programs


def read(path):
  with open(os.path.join(ROOT, path), encoding="utf-8") as f:
    return f.read()


class VersionsTest(unittest.TestCase):

  def test_release(self):
    release = re.search(r'kVersion\[\] = "(.+)"', read("proto/version.h"))[1]
    package = re.match(r"kamino \((.+?)\)", read("deploy/debian/changelog"))[1]
    chart = read("deploy/helm/kamino/Chart.yaml")
    self.assertEqual(package, release)
    self.assertEqual(re.search(r"(?m)^appVersion: (.+)$", chart)[1], release)
    self.assertEqual(re.search(r"(?m)^version: (.+)$", chart)[1], release)

  def test_kubernetes(self):
    module = read("tests/kubernetes/programs/kubernetes/go.mod")
    version = re.search(r"(?m)^\tk8s.io/kubernetes v(\S+)", module)[1]
    self.assertEqual(version, programs.VERSION)

  def test_packages_that_the_build_needs(self):
    control = read("deploy/debian/control")
    needed = re.search(r"Build-Depends:\n((?: .+\n)+)", control)[1]
    needed = {line.split()[0].rstrip(",") for line in needed.splitlines()}
    group = read("deploy/packages.txt").split("[build]")[1].split("\n[")[0]
    listed = {line.split()[0] for line in group.splitlines()
              if line and not line.startswith("#")}
    self.assertEqual(needed - listed, {"debhelper-compat"})
    # The demo's, and make.
    self.assertEqual(listed - needed, {"etcd-server", "make", "python3"})


if __name__ == "__main__":
  unittest.main(verbosity=2)
