"""No manager leads: the members renew each other's leases and go on."""

import signal
import time

from harness import ClusterTest, main, patience, wait_until

FAILURE_TIMEOUT_S = 2
STANDS_IN = "the members of this view renew each other's leases"


class NoManagerTest(ClusterTest):
  # Long enough for a process to be started on a machine that is busy.
  start = {"heap_mb": 16, "ring_mb": 16, "nodes": 3,
           "failure_timeout_ms": FAILURE_TIMEOUT_S * 1000}

  def test_the_chain_serves_without_a_manager_and_recovers_with_one(self):
    order, _ = self.cluster.chain()
    self.cluster.kill("etcd", signal.SIGSTOP)
    self.cluster.kill("manager")
    began = time.monotonic()
    for node in order:
      wait_until(lambda: STANDS_IN in self.cluster.log_tail(node, 50), 30,
                 f"{node} to have its lease from the others")
    # Far beyond any lease.
    count = 0
    while time.monotonic() - began < patience(4 * FAILURE_TIMEOUT_S):
      count += 1
      self.kamino("put", "key", str(count))
      self.assertEqual(self.kamino("get", "key").strip(), str(count))

    # With one less, no peer lease can be renewed: the others stop, and lose
    # nothing.
    self.cluster.kill(order[1])
    wait_until(lambda: "answers nothing by itself until they do" in
               self.cluster.log_tail(order[2], 50), 30, "the tail to stop")
    self.kamino("--timeout", "1s", "get", "key", expect=3)

    self.cluster.kill("etcd", signal.SIGCONT)
    self.cluster.restart("manager")
    self.cluster.await_chain([order[0], order[2]], timeout=30)
    self.assertEqual(self.kamino("get", "key").strip(), str(count))
    self.cluster.restart(order[1])
    self.cluster.await_chain([order[0], order[2], order[1]], timeout=30)
    self.kamino("put", "key", "whole")
    self.assertEqual(self.kamino("get", "key").strip(), "whole")


if __name__ == "__main__":
  main()
