"""tests/run and .ci/run: the counts are right, and failures fail."""

import importlib.machinery
import json
import os
import shutil
import subprocess
import tempfile
import types
import unittest

from programs import ROOT, ProgramTest


def summary(label, status, log=None, passed=None):
  event = {"id": {"testSummary": {"label": label}},
           "testSummary": {"overallStatus": status}}
  if log:
    event["testSummary"]["failed"] = [{"uri": f"file://{log}"}]
  if passed:
    event["testSummary"]["passed"] = [{"uri": f"file://{passed}"}]
  return json.dumps(event)


def took(label, milliseconds):
  return json.dumps({
      "id": {"testSummary": {"label": label}},
      "testSummary": {"overallStatus": "PASSED",
                      "totalRunDurationMillis": milliseconds}})


def completed(label, success):
  return json.dumps({"id": {"targetCompleted": {"label": label}},
                     "completed": {"success": True} if success else {}})


class RunTest(ProgramTest):

  def run_with(self, *events, exit_code=0):
    """Runs tests/run over a Bazel that reports these events."""
    text = "\n".join(events)
    self.program("bazel", f"""#!/bin/sh
[ "$1" = test ] || exit 1
for word; do
  case $word in
    --build_event_json_file=*) file=${{word#*=}} ;;
  esac
done
cat >"$file" <<'END'
{text}
END
exit {exit_code}
""")
    done = self.run_script("tests/run", KAMINO_TEST_TIME_SCALE="1")
    return done.returncode, done.stdout.splitlines()

  def test_all_pass(self):
    self.assertEqual(
        self.run_with(json.dumps({"id": {"started": {}}}),
                      completed("//a:x", True), summary("//a:x", "PASSED"),
                      summary("//a:y", "FLAKY")),
        (0, ["2 passed, 0 failed"]))

  def test_a_failure_is_named_with_its_log(self):
    self.assertEqual(
        self.run_with(summary("//a:x", "PASSED"),
                      summary("//a:y", "FAILED", "/logs/y.log"),
                      summary("//a:z", "TIMEOUT"), exit_code=3),
        (1, ["--- /logs/y.log", "no log: No such file or directory",
             "FAILED: //a:y /logs/y.log", "TIMEOUT: //a:z",
             "1 passed, 2 failed"]))

  def test_failure_lines_and_the_end_of_the_log_are_shown(self):
    log = os.path.join(self.folder, "log")
    lines = ["a.cc:7: Failure", "[  FAILED  ] A.B (1 ms)", *["noise"] * 100,
             "Segmentation fault"]
    with open(log, "w", encoding="utf-8") as f:
      f.write("\n".join(lines))
    self.assertEqual(
        self.run_with(summary("//a:y", "FAILED", log), exit_code=3),
        (1, [f"--- {log}", *lines[:2], *["noise"] * 39, "Segmentation fault",
             f"FAILED: //a:y {log}", "0 passed, 1 failed"]))

  def test_skipped_parts_of_a_test_are_named(self):
    log = os.path.join(self.folder, "log")
    with open(log, "w", encoding="utf-8") as f:
      f.write("part one: ok\nNOT RUN: no machine for part two\n")
    self.assertEqual(
        self.run_with(summary("//a:x", "PASSED", passed=log),
                      summary("//a:y", "PASSED", passed="/is/not/there")),
        (0, ["not run in //a:x: no machine for part two",
             "2 passed, 0 failed"]))

  def test_a_test_that_cannot_be_built_has_failed(self):
    self.assertEqual(
        self.run_with(summary("//a:x", "PASSED"), completed("//a:y", False),
                      exit_code=1),
        (1, ["NOT BUILT: //a:y", "1 passed, 1 failed"]))

  def test_a_test_that_did_not_run_has_failed(self):
    self.assertEqual(
        self.run_with(summary("//a:x", "NO_STATUS"), exit_code=8),
        (1, ["NO_STATUS: //a:x", "0 passed, 1 failed"]))

  def test_bazel_fails_for_another_reason(self):
    self.assertEqual(
        self.run_with(summary("//a:x", "PASSED"), exit_code=37),
        (1, ["bazel ended with 37", "1 passed, 1 failed"]))

  def test_bazel_is_killed_while_it_writes(self):
    self.assertEqual(
        self.run_with(summary("//a:x", "PASSED"), '{"id": {"testSu',
                      exit_code=1),
        (1, ["bazel ended with 1", "1 passed, 1 failed"]))

  def test_the_duration_of_tests_is_written(self):
    path = os.path.join(self.folder, "times")
    self.environment["KAMINO_TEST_TIMES"] = path
    self.assertEqual(
        self.run_with(took("//a:x", "1500"), took("//a:y", "60250"))[0], 0)
    with open(path, encoding="utf-8") as f:
      self.assertEqual([line.split() for line in f],
                       [["60.2", "//a:y"], ["1.5", "//a:x"]])

  def test_no_tests_is_a_failure(self):
    self.assertEqual(self.run_with(exit_code=0),
                     (1, ["no tests were found", "0 passed, 1 failed"]))


class TimeScaleTest(ProgramTest):

  def run_with(self, scale):
    self.recorder("bazel")
    done = self.run_script("tests/run", KAMINO_TEST_TIME_SCALE=scale)
    return done.returncode, done.stdout, " ".join(self.calls())

  def test_the_timeouts_of_tests_scale(self):
    for scale, timeouts in (("1", "180,600,1800,3600"),
                            ("2.5", "450,1500,4500,9000"),
                            ("0.001", "1,1,2,4")):
      self.assertIn(f"--test_timeout={timeouts} ", self.run_with(scale)[2])

  def test_the_programs_are_built_first(self):
    calls = self.run_with("1")[2]
    self.assertRegex(calls, "^bazel build .*//node:kamino_node.* bazel test ")

  def test_an_invalid_factor_is_refused(self):
    for scale in ("fast", "0", "-1", "1000", "nan"):
      code, output, calls = self.run_with(scale)
      self.assertEqual((code, calls), (2, ""))
      self.assertIn(f"KAMINO_TEST_TIME_SCALE is {scale}; it must be", output)


class ProcessorsTest(unittest.TestCase):
  """Processors that cgroups of either version grant."""

  def setUp(self):
    self.root = tempfile.mkdtemp()
    self.addCleanup(shutil.rmtree, self.root)
    loader = importlib.machinery.SourceFileLoader(
        "tests_run", os.path.join(ROOT, "tests", "run"))
    self.module = types.ModuleType(loader.name)
    self.module.__file__ = loader.path
    loader.exec_module(self.module)

  def write(self, path, text):
    path = os.path.join(self.root, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="ascii") as f:
      f.write(text)

  def granted(self):
    return self.module.processors_granted(self.root)

  def test_no_quota(self):
    self.assertEqual(self.granted(), float("inf"))
    self.write("proc/self/cgroup", "0::/a\n")
    self.write("sys/fs/cgroup/a/cpu.max", "max 100000\n")
    self.assertEqual(self.granted(), float("inf"))

  def test_the_smallest_quota_of_the_ancestors_counts(self):
    self.write("proc/self/cgroup", "0::/a/b\n")
    self.write("sys/fs/cgroup/a/b/cpu.max", "200000 100000\n")
    self.write("sys/fs/cgroup/a/cpu.max", "150000 100000\n")
    self.assertEqual(self.granted(), 1.5)

  def test_version_1(self):
    self.write("proc/self/cgroup",
               "5:memory:/other\n3:cpu,cpuacct:/a\n0::/\n")
    self.write("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "100000\n")
    self.write("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n")
    self.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n")
    self.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n")
    self.assertEqual(self.granted(), 1)


class HelpTest(ProgramTest):

  def run_words(self, *words):
    done = subprocess.run(
        [os.path.join(ROOT, words[0]), *words[1:]], env=self.environment,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout

  def test_help_prints_usage_only(self):
    for name in ("bazel", "clang", "go", "cargo"):
      self.recorder(name, "exit 1")
    for path in ("tests/run", "tests/fuzz/run", "tests/chaos/chaos.py",
                 "tests/chaos/checkers.py"):
      for word in ("-h", "--help"):
        code, output = self.run_words(path, word)
        self.assertEqual((code, output[:6]), (0, "usage:"), (path, output))
    self.assertEqual(self.calls(), [])

  def test_invalid_arguments_are_refused(self):
    code, output = self.run_words("tests/fuzz/run", "chain")
    self.assertEqual(code, 2)
    self.assertIn("minutes are a number, not chain", output)
    code, output = self.run_words("tests/chaos/chaos.py", "check",
                                  "/nonexistent")
    self.assertEqual((code, len(output.splitlines())), (2, 1), output)
    self.assertIn("there is no folder /nonexistent", output)


class CiTest(ProgramTest):

  def run_with(self, text):
    """Runs .ci/run over a make that prints and does this."""
    self.recorder("make", text)
    done = self.run_script(".ci/run")
    self.assertEqual(self.calls()[-1], "make test")
    return done.returncode, done.stdout.splitlines()

  def test_success(self):
    self.assertEqual(self.run_with("echo building; echo 7 passed, 0 failed"),
                     (0, ["building", "7 passed, 0 failed"]))

  def test_failure_ends_with_the_counts(self):
    self.assertEqual(
        self.run_with("echo 7 passed, 1 failed; echo 'make: Error' >&2; "
                      "exit 2"),
        (1, ["7 passed, 1 failed", "make: Error", "7 passed, 1 failed"]))

  def test_ten_failures_are_not_zero(self):
    self.assertEqual(self.run_with("echo 7 passed, 10 failed; exit 2")[0], 1)

  def test_a_failure_before_the_tests_counts(self):
    self.assertEqual(self.run_with("echo no network >&2; exit 2"),
                     (1, ["no network", "0 passed, 1 failed"]))


if __name__ == "__main__":
  unittest.main(verbosity=2)
