"""Wall clocks that are set by an hour while a chain serves: no effect.

The processes are real; their wall clock is moved by stepped_clock.cc, which
ends waits as a kernel would whose clock was set.
"""

import os
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))), "integration"))
# pylint: disable=wrong-import-position
from harness import ROOT, ClusterTest, Load, main, patience
from local_cluster import LocalCluster

HOUR_S = 3600
FAILURE_TIMEOUT_S = 2
WATCHED_S = 4 * FAILURE_TIMEOUT_S  # leases would have run out by then
TRANSFERS = 200  # acknowledged before a clock is set, and after that time
PRELOADED = os.path.join(ROOT, "tests", "clock", "libstepped_clock.so")


class SteppedCluster(LocalCluster):
  """A cluster whose processes, except etcd, have wall clocks of their own."""

  def clock_of(self, name):
    path = self.folder + f".clock.{name}"
    if not os.path.exists(path):
      set_clock(path, 0)
    return path

  def command_for(self, name, arguments):
    if name == "etcd":
      return arguments
    return ["env", f"LD_PRELOAD={PRELOADED}",
            f"STEPPED_CLOCK={self.clock_of(name)}", *arguments]

  def end_commands(self):
    with self._commands_lock:
      for command in self._commands:
        command.kill()


def set_clock(path, seconds):
  """In one write, which processes that have it mapped see at once."""
  descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
  os.pwrite(descriptor, struct.pack("<q", seconds * 10**9), 0)
  os.close(descriptor)


class SteppedClockTest(ClusterTest):
  cluster_class = SteppedCluster
  start = {"nodes": 3, "heap_mb": 16, "ring_mb": 16,
           "failure_timeout_ms": FAILURE_TIMEOUT_S * 1000}

  def setUp(self):
    super().setUp()
    self.open_bank()
    self.order, self.view = self.cluster.chain()
    self.loads = 0
    for name in [*self.cluster.managers, *self.cluster.nodes]:
      self.check_mapped(name, self.cluster.state["processes"][name]["pid"])

  def check_mapped(self, name, pid):
    """A process that the library could not be loaded into goes on without."""
    clock = os.path.basename(self.cluster.clock_of(name))
    with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
      self.assertTrue(any(line.rstrip().endswith(clock) for line in f),
                      f"{name} does not go by its own clock")

  def step(self, seconds, names):
    for name in names:
      set_clock(self.cluster.clock_of(name), seconds)

  def let_time_pass(self, load):
    """Returns the longest time without an answer, which is only printed."""
    longest, acked, since = 0, load.acked(), time.monotonic()
    end = since + patience(WATCHED_S)
    while time.monotonic() < end and load.is_alive():
      time.sleep(0.02)
      now, seen = time.monotonic(), load.acked()
      longest = max(longest, now - since)
      if seen > acked:
        acked, since = seen, now
    return longest

  def check_goes_on(self, what, seconds, names):
    """Under load, the wall clocks of `names` are set by as much."""
    self.loads += 1
    load = Load(self.cluster, count=10**7, log=f"acked{self.loads}.log")
    load.await_acked(TRANSFERS)
    self.check_mapped("kamino", load.process.pid)
    self.step(seconds, names)
    silence = self.let_time_pass(load)
    print(f"{what} by {seconds:+d} s: no answer for {silence:.2f} s at most",
          flush=True)
    # An outage drops a member, fails a call, which ends the load, or lasts:
    # none of the three depends on the machine's speed.
    load.await_acked(load.acked() + TRANSFERS)
    self.assertTrue(load.is_alive(), "the load has ended")
    self.cluster.end_commands()
    load.join()
    self.assertEqual(self.cluster.chain(), (self.order, self.view),
                     "a member was dropped")

  def check_both_ways(self, what, *names):
    for seconds in (-HOUR_S, 0, HOUR_S):
      self.check_goes_on(what, seconds, names)

  def test_the_heads_clock_is_stepped(self):
    self.check_both_ways("the head's clock", self.order[0])

  def test_a_middles_clock_is_stepped(self):
    self.check_both_ways("a middle's clock", self.order[1])

  def test_the_tails_clock_is_stepped(self):
    self.check_both_ways("the tail's clock", self.order[-1])

  def test_the_managers_clock_is_stepped(self):
    self.check_both_ways("the manager's clock", "manager")

  def test_a_clients_clock_is_stepped(self):
    self.check_both_ways("a client's clock", "kamino")

  def test_all_clocks_are_stepped(self):
    self.check_both_ways("all clocks", "manager", "kamino", *self.order)

  def test_the_chain_recovers_after_a_step(self):
    """Set back, then a node dies: timeouts end nevertheless."""
    self.step(-HOUR_S, ["manager", "kamino", *self.order])
    self.cluster.kill(self.order[1])
    self.cluster.await_chain([self.order[0], self.order[2]], timeout=20)
    self.cluster.restart(self.order[1])
    self.cluster.await_chain(self.order, timeout=30)


if __name__ == "__main__":
  main()
