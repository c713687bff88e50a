"""A cluster under a load of writes, and when they were acknowledged."""

import datetime
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.realpath(__file__))))
for folder in (("deploy", "local"), ("tests", "chaos")):
  sys.path.insert(0, os.path.join(ROOT, *folder))
# pylint: disable=wrong-import-position
from acknowledged import AckWatch, longest_gap
from local_cluster import LocalCluster, default_parent, needed_mb
from processes import ClusterError, wait_until

CLIENT = "tests/chaos/client/chaos_client"
WRITERS = 4
WARM_UP_S = 0.7
PATIENCE_S = 30.0


class Disturbed(ClusterError):
  """The chain lost a node before anything was done to it."""


class Rig:
  """Use with `with`: the cluster runs inside it."""

  def __init__(self, binaries, nodes=4, heap_mb=64, failure_timeout_ms=200,
               managers=1, leader_ttl_s=2, undo_copy="dynamic"):
    self.binaries = binaries
    self.settings = {
        "nodes": nodes, "heap_mb": heap_mb, "managers": managers,
        "undo_copy": undo_copy, "failure_timeout_ms": failure_timeout_ms,
        "leader_ttl_s": leader_ttl_s, "node_flags": ["--restart_limit=0"]}
    self.folder = tempfile.mkdtemp(
        prefix="kamino-bench-",
        dir=default_parent(needed_mb(nodes, undo_copy, heap_mb)))
    self.cluster = LocalCluster(os.path.join(self.folder, "c"), binaries)
    self._client = None
    self._watch = None

  def __enter__(self):
    try:
      self.cluster.start(**self.settings)
    except BaseException:
      self.__exit__()
      raise
    return self

  def __exit__(self, *unused):
    self.end_writes()
    self.cluster.destroy()
    shutil.rmtree(self.folder, ignore_errors=True)

  # --- Writes.

  def begin_writes(self):
    """Begins as many writes as the writers can make, to a few objects."""
    history = os.path.join(self.folder, "history.jsonl")
    program = os.path.join(self.binaries.root, CLIENT)
    if not os.access(program, os.X_OK):
      raise ClusterError(f"{CLIENT} is not in {self.binaries.root}; run make "
                         "bench-failover")
    self._watch = AckWatch(history)
    with open(os.path.join(self.folder, "client.log"), "w",
              encoding="utf-8") as log:
      self._client = subprocess.Popen(
          [program, f"--seeds={self.cluster.seeds}", "--workload=registers",
           f"--history={history}", f"--processes={WRITERS}", "--rate=0",
           "--timeout=20s"], stdout=log, stderr=log)
    self.await_writes(time.monotonic() + WARM_UP_S)

  def end_writes(self):
    """Ends the writes at once; the client's output is not read any more."""
    if self._client is not None:
      self._client.kill()
      self._client.wait()
      self._client = None

  def acks(self):
    self._watch.poll()
    return self._watch.acks

  def await_writes(self, after):
    wait_until(lambda: self.acks() and self._watch.acks[-1] > after,
               PATIENCE_S, "acknowledged writes")

  def write_rate(self, begin, end):
    """Acknowledged writes a second between two times."""
    return sum(begin <= t < end for t in self.acks()) / (end - begin)

  def stall_after(self, event, longest_s):
    """How long after `event` the interruption it caused has ended.

    The interruption is the longest time without an acknowledged write that
    begins within `longest_s` of the event.
    """
    self.await_writes(event + longest_s + WARM_UP_S)
    gap, since = longest_gap(self.acks(), event, event + longest_s)
    return max(0.0, since + gap - event)

  def longest_gap_after(self, event, longest_s):
    """The longest time without an acknowledged write that begins within
    `longest_s` of the event, whenever: of what need not interrupt them."""
    self.await_writes(event + longest_s + WARM_UP_S)
    gap, _ = longest_gap(self.acks(), event, event + longest_s)
    return gap

  def longest_gap_of_reads_after(self, event, longest_s):
    """The same for reads."""
    self.await_writes(event + longest_s + WARM_UP_S)
    gap, _ = longest_gap(self._watch.reads, event, event + longest_s)
    return gap

  def check_no_call_failed(self):
    """Every call of the writers so far has come to something that is known."""
    self.acks()
    failed = self._watch.counts["unknown"]
    if failed or self._client.poll() is not None:
      raise ClusterError(f"{failed} calls of the writers have failed")

  def whole_chain(self):
    """Names of its nodes, head first; all of them."""
    names, _ = self.cluster.chain()
    if len(names) != self.settings["nodes"]:
      raise Disturbed(f"the chain is {' '.join(names)} only; the machine is "
                      "busy")
    return names

  # --- Data.

  def fill(self, part):
    """Puts objects of 1 MB until so much of the heap is used."""
    count = max(1, int(self.settings["heap_mb"] * part))
    self.cluster.kamino("bench", "put", f"--count={count}",
                        f"--keys={count}", "--in_order",
                        "--value_size=1000000",
                        "--outstanding=8", "--timeout=60s", timeout=600)

  def lose_data(self, name):
    """Removes the files of a node that does not run: it returns as a new
    one."""
    folder = self.cluster.data_dir(name)
    for file in os.listdir(folder):
      if file.endswith(".pmem"):
        os.remove(os.path.join(folder, file))

  def last_transfer(self, sender):
    """A tail's last state transfer, by its log: begin, end, MB sent."""
    with open(self.cluster.log_path(sender), encoding="utf-8",
              errors="replace") as log:
      text = log.read()
    begun = re.findall(r"^I(\S+ \S+) .*\] sending the whole heap to", text,
                       re.M)
    ended = re.findall(r"^I(\S+ \S+) .*\] \S+ has the heap as of .* MiB, "
                       r"of which (\d+) were sent", text, re.M)
    if not begun or not ended:
      raise ClusterError(f"{sender} tells of no state transfer")
    # Its clock is the calendar's, ours the one of histories.
    shift = time.time() - time.monotonic()
    begin, end = (datetime.datetime.strptime(when, "%Y%m%d %H:%M:%S.%f")
                  .timestamp() - shift for when in (begun[-1], ended[-1][0]))
    return begin, end, int(ended[-1][1]) * 2**20 / 1e6

  def leader(self):
    """The manager that leads, by its log."""
    for name in self.cluster.managers:
      if self.cluster.alive(name) and "is the leader" in self.cluster.log_tail(
          name, 1000):
        return name
    return None
