"""The common part of the integration tests: a real cluster for each test."""

import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "deploy", "local"))
# pylint: disable=wrong-import-position
from binaries import Binaries
from failing import FailureTest
from local_cluster import ClusterError, LocalCluster, default_parent, needed_mb
from processes import free_port, patience, time_scale, wait_until

__all__ = ["ENDLESS", "ROOT", "ClusterError", "ClusterTest", "Load",
           "free_port", "main", "patience", "scaled", "wait_until"]

ACCOUNTS = 50
BALANCE = 1000
STACKS_TIMEOUT_S = 60
# A node that lives is not taken for dead while other tests have the processors.
FAILURE_TIMEOUT_MS = 2000
ROOM = 3  # for so many clusters: tests run beside each other


def stacks_of(pid):
  """Where each of a process's threads is: by a debugger, or else in words."""
  try:
    done = subprocess.run(
        ["gdb", "-p", str(pid), "-batch", "-nx", "-ex",
         "thread apply all backtrace 24"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True, errors="replace",
        timeout=patience(STACKS_TIMEOUT_S), check=False)
    lines = [line for line in done.stdout.splitlines()
             if line.startswith(("#", "Thread"))]
    if lines:
      return "\n".join(lines)
  except (OSError, subprocess.TimeoutExpired):
    pass  # no debugger, or a slow one
  return "\n".join(" ".join([thread] + [
      _word(f"/proc/{pid}/task/{thread}/{file}")
      for file in ("comm", "wchan", "syscall")]) for thread in _threads(pid))


def _threads(pid):
  try:
    return sorted(os.listdir(f"/proc/{pid}/task"))
  except OSError:
    return []


def _word(path):
  try:
    with open(path, encoding="utf-8", errors="replace") as f:
      return f.read().strip()
  except OSError:
    return "?"


def scaled(settings):
  """Arguments of LocalCluster.start, with its timeouts for this machine: what
  a test waits for scales, and so does the time after which a node is dead."""
  scale = time_scale()
  return {**settings,
          "failure_timeout_ms": math.ceil(scale * settings.get(
              "failure_timeout_ms", FAILURE_TIMEOUT_MS)),
          "leader_ttl_s": math.ceil(scale * settings.get("leader_ttl_s", 2))}


ENDLESS = 10**12  # calls of a load that goes on until it is told to stop
LONGEST_S = 600  # of such a load


class Load(threading.Thread):
  """A load of bank transfers in the background.

  `count`: transfers; ENDLESS: it goes on until `stop`, so that it outlasts what
  the test does meanwhile, however fast the machine is.
  `words`: further options of `kamino bench transfer`.
  """

  def __init__(self, cluster, count=20000, log="acked.log", outstanding=32,
               words=()):
    super().__init__(daemon=True)
    self.cluster = cluster
    self.log = os.path.join(cluster.folder, log)
    self.count = count
    self.outstanding = outstanding
    self.words = words
    self._patience_s = 60 * cluster.patience
    self.done = None
    self.process = None
    self.start()

  def run(self):
    self.done = self.cluster.kamino(
        "bench", "transfer", f"--count={self.count}",
        f"--outstanding={self.outstanding}",
        f"--accounts={ACCOUNTS}", f"--acked_log={self.log}", "--timeout=30s",
        "--json", *self.words, check=False,
        timeout=LONGEST_S if self.count == ENDLESS else 120,
        started=self._note)

  def _note(self, process):
    self.process = process

  def stop(self):
    """Waits for its end; tells an endless load to end first."""
    if self.count == ENDLESS:
      wait_until(lambda: self.process is not None or not self.is_alive(),
                 self._patience_s, "the load to start")
      if self.done is None:
        self.process.send_signal(signal.SIGINT)
    self.join()

  def acked(self):
    try:
      with open(self.log, "rb") as f:
        return f.read().count(b"\n")
    except OSError:
      return 0

  def await_acked(self, count):
    try:
      wait_until(lambda: self.acked() >= count or not self.is_alive(),
                 self._patience_s, f"{count} transfers")
    except ClusterError as error:
      raise ClusterError(f"{error}; there are {self.acked()}") from error

  def transfers(self):
    with open(self.log, encoding="ascii") as f:
      return [(a, b, int(n)) for a, b, n, _ in map(str.split, f)]


class ClusterTest(FailureTest):
  """Starts a cluster for each test and removes it afterwards."""

  start = {}  # arguments of LocalCluster.start
  patience = 1  # argument of LocalCluster
  cluster_class = LocalCluster
  parent = None  # folder to put the cluster's in; None: by default_parent

  def setUp(self):
    self.folder = tempfile.mkdtemp(prefix="kamino-test-",
                                   dir=self.parent or default_parent(
                                       ROOM * needed_mb()))
    self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
    self.cluster = self.cluster_class(os.path.join(self.folder, "c"),
                                      self.programs(), self.patience)
    self.cluster.look_at_stuck = self.tell_of_stuck
    self.addCleanup(self.cluster.destroy)
    self.addCleanup(self.tell_of_failure)  # before the cluster is gone
    self.cluster.start(**scaled(self.start))

  def programs(self):
    """Those that the cluster is started with."""
    return Binaries()

  def tell_of_failure(self):
    """Prints the managers' status, the last warnings in the logs, and the
    managers' last lines about views."""
    if not self.has_failed() or not self.cluster.state:
      return
    if self.cluster.managers:
      addresses = ",".join(self.cluster.operators_addresses)
      try:
        said = self.cluster.kamino("admin", "status", f"--managers={addresses}",
                                   "--timeout=5s", check=False)
        print(said.stdout + said.stderr)
      except ClusterError as error:
        print(error)
    for name in self.cluster.state["processes"]:
      telling = [line for line in self.cluster.log_tail(name, 400).splitlines()
                 if line[:1] in "WEF" or
                 (name in self.cluster.managers and " view " in line)]
      print(f"--- {name}", *telling[-20:], sep="\n", flush=True)

  def tell_of_stuck(self, pid):
    """Prints where a command waits that did not end, and the nodes too."""
    print(f"--- a command that did not end\n{stacks_of(pid)}", flush=True)
    for name, process in self.cluster.state["processes"].items():
      print(f"--- {name}\n{stacks_of(process['pid'])}", flush=True)

  def kamino(self, *words, expect=0, stderr=None):
    """Runs a command; checks exit code and a part of its one error line."""
    done = self.cluster.kamino(*words, check=False)
    self.assertEqual(done.returncode, expect, done.stderr)
    if expect != 0:
      self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
    if stderr is not None:
      self.assertIn(stderr, done.stderr)
    return done.stdout

  def open_bank(self):
    self.kamino("bench", "transfer", "--setup", f"--accounts={ACCOUNTS}",
                f"--balance={BALANCE}", "--count=1", "--outstanding=1",
                "--acked_log=" + os.path.join(self.cluster.folder, "first.log"))

  def check_bank(self, *loads):
    """Every acknowledged transfer has happened once, and nothing else."""
    balances = {f"bank/{i:06d}": BALANCE for i in range(ACCOUNTS)}
    transfers = Load.transfers(_Log(self.cluster.folder, "first.log"))
    for load in loads:
      load.stop()
      self.assertEqual(load.done.returncode, 0, load.done.stderr)
      transfers += load.transfers()
    for source, target, amount in transfers:
      balances[source] -= amount
      balances[target] += amount
    found = dict(line.split("\t") for line in
                 self.kamino("scan", "--prefix=bank/").splitlines())
    self.assertEqual(found, {k: str(v) for k, v in balances.items()})

  def run_program(self, *words, timeout=30):
    return subprocess.run(words, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True,
                          timeout=patience(timeout), check=False)


class _Log:
  """Just the name of a log, for Load.transfers."""

  def __init__(self, folder, name):
    self.log = os.path.join(folder, name)


class ShardLoader(unittest.TestLoader):
  """Loads every n-th test, as Bazel's shard_count says."""

  def loadTestsFromModule(self, module, *words, **more):
    suite = super().loadTestsFromModule(module, *words, **more)
    status = os.environ.get("TEST_SHARD_STATUS_FILE")
    if status:
      with open(status, "w", encoding="ascii"):
        pass  # Bazel fails a test that does not know that it is one shard
    shard = int(os.environ.get("TEST_SHARD_INDEX", "0"))
    shards = int(os.environ.get("TEST_TOTAL_SHARDS", "1"))
    return self.suiteClass(list(_tests_in(suite))[shard::shards])


def _tests_in(suite):
  for test in suite:
    if isinstance(test, unittest.TestSuite):
      yield from _tests_in(test)
    else:
      yield test


def main():
  unittest.main(verbosity=2, testLoader=ShardLoader())
