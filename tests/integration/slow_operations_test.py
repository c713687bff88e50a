"""Slow operations are logged above a threshold, which may change meanwhile."""

import os
import re
import signal
import threading

from harness import ClusterTest, main, wait_until

PATIENCE_S = 20
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class SlowOperationsTest(ClusterTest):
  # No node is expelled while it is stopped for a moment.
  start = {"nodes": 3, "heap_mb": 16, "ring_mb": 16,
           "failure_timeout_ms": 30000}

  def setUp(self):
    # The file is where the cluster's folder will be put.
    self.config = os.path.join(self.default_folder(), "slow.toml")
    self.write(0)
    self.start = {**self.start, "node_flags": [f"--config={self.config}"]}
    super().setUp()
    self.addCleanup(os.unlink, self.config)

  def default_folder(self):
    return os.environ.get("TEST_TMPDIR") or "/tmp"

  def write(self, threshold):
    with open(self.config, "w", encoding="utf-8") as file:
      file.write(f"[node]\nslow_operation_ms = {threshold}\n")

  def slow_lines(self, name):
    with open(self.cluster.log_path(name), encoding="utf-8") as log:
      return [line for line in log if "slow operation: " in line]

  def told(self):
    """Where it took so long that it was sent again, there are others."""
    return next((line for line in self.slow_lines("n1")
                 if "=put" in line and " code=OK " in line), None)

  def put_while_the_tail_stands_still(self):
    """Stops the tail until the head reports that it waits: over 1 ms."""
    self.cluster.kill("n3", signal.SIGSTOP)
    put = threading.Thread(target=self.put)
    put.start()
    wait_until(self.waits, PATIENCE_S, "the head to have it in flight")
    self.cluster.kill("n3", signal.SIGCONT)
    put.join()

  def put(self):
    self.cluster.kamino("put", "a-key", "a-value")

  def waits(self):
    status = self.cluster.kamino("status", "--json", "--timeout=1s",
                                 check=False).stdout
    return re.search(r'"in_flight":\s*"?[1-9]', status)

  def test_slow_operations_are_logged(self):
    os.environ["TRACEPARENT"] = TRACE
    self.addCleanup(os.environ.pop, "TRACEPARENT")
    self.put_while_the_tail_stands_still()
    self.assertEqual(self.slow_lines("n1"), [])
    self.write(1)
    self.cluster.kill("n1", signal.SIGHUP)
    wait_until(lambda: "slow operations" in self.cluster.log_tail("n1", 5),
               PATIENCE_S, "the node to take the threshold on")
    self.put_while_the_tail_stands_still()
    line = wait_until(self.told, PATIENCE_S, "the put to be told of")
    complete = re.search(r" complete_ms=(\S+) ", line)
    took = re.search(r" took_ms=(\S+) ", line)
    self.assertGreater(float(complete.group(1)), 0.5)
    self.assertGreater(float(took.group(1)), 1)
    self.assertIn(" keys=1 ", line)
    self.assertRegex(line, r"\[request \d+/\d+\]")
    self.assertIn(f"[traceparent {TRACE}]", line)
    self.assertNotIn("a-key", line)
    self.assertNotIn("a-value", line)


if __name__ == "__main__":
  main()
