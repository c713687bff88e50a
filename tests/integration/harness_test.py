"""The explanation that an integration test prints when it fails."""

import contextlib
import io
import unittest
from types import SimpleNamespace

from failing import FailureTest
from harness import ClusterTest


class FakeCluster:
  managers = ["manager"]
  operators_addresses = ["127.0.0.1:1"]
  state = {"processes": {"manager": {}, "n1": {}}}

  def kamino(self, *words, check):
    del check
    return SimpleNamespace(stdout=f"{words[1]}\n", stderr="")

  def log_tail(self, name, lines):
    del lines
    return f"I1 a line of {name}\nI1 view 2 is stored\nW2 a warning\n"


class Example(ClusterTest):
  """Has a cluster without processes."""

  def setUp(self):
    self.cluster = FakeCluster()
    self.addCleanup(self.tell_of_failure)

  def test_that_passes(self):
    pass

  def test_that_fails(self):
    self.fail("on purpose")

  def test_with_a_subtest_that_fails(self):
    with self.subTest("one"):
      self.fail("on purpose")

  def test_with_an_error(self):
    raise OSError("on purpose")


class SetUpFails(FailureTest):
  def setUp(self):
    self.addCleanup(lambda: print("failed", self.has_failed()))
    self.fail("on purpose")

  def test_nothing(self):
    pass


def printed_by(case):
  out = io.StringIO()
  with contextlib.redirect_stdout(out):
    case.run(unittest.TestResult())
  return out.getvalue()


class HarnessTest(unittest.TestCase):

  def test_a_failure_prints_the_last_warnings(self):
    for name in ("test_that_fails", "test_with_a_subtest_that_fails",
                 "test_with_an_error"):
      with self.subTest(name):
        self.assertEqual(printed_by(Example(name)),
                         "status\n\n--- manager\nI1 view 2 is stored\n"
                         "W2 a warning\n--- n1\nW2 a warning\n")

  def test_a_success_prints_nothing(self):
    self.assertEqual(printed_by(Example("test_that_passes")), "")

  def test_a_failure_of_setup_is_one(self):
    self.assertEqual(printed_by(SetUpFails("test_nothing")), "failed True\n")

  def test_another_test_that_failed_does_not_count(self):
    result = unittest.TestResult()
    out = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()):
      Example("test_that_fails").run(result)
    with contextlib.redirect_stdout(out):
      Example("test_that_passes").run(result)
    self.assertEqual(out.getvalue(), "")


def load_tests(loader, tests, pattern):
  del tests, pattern
  return loader.loadTestsFromTestCase(HarnessTest)


if __name__ == "__main__":
  unittest.main(verbosity=2)
