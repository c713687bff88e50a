"""Tells a test case, while it cleans up, whether the test failed."""

import unittest


class FailureTest(unittest.TestCase):
  """Base of test cases that explain a failure before they clean up."""

  def run(self, result=None):
    self._result = self.defaultTestResult() if result is None else result
    return super().run(self._result)

  def has_failed(self):
    """True once the test, its setUp or one of its subtests has failed. The
    result knows that at once; unittest has no other record of it that
    tearDown and cleanups can see."""
    return any(getattr(test, "test_case", test) is self
               for test, _ in self._result.failures + self._result.errors)
