"""Processes that are allowed no more memory: each ends with a line that says
so, and what it had acknowledged is there."""

import os
import resource
import subprocess

from harness import ClusterTest, main, wait_until

LINE = "out of memory"


def bound_memory(pid, more_bytes):
  """Bounds it to its present data, and `more_bytes`."""
  with open(f"/proc/{pid}/status", encoding="ascii") as f:
    lines = dict(line.split(":", 1) for line in f)
  bound = int(lines["VmData"].split()[0]) * 1024 + more_bytes
  resource.prlimit(pid, resource.RLIMIT_DATA, (bound, bound))


class ExhaustionTest(ClusterTest):
  start = {"nodes": 3, "heap_mb": 64, "ring_mb": 64}

  def large_value(self):
    path = os.path.join(self.folder, "value")
    with open(path, "wb") as f:
      f.write(os.urandom(1 << 20))
    return f"--file={path}"

  def flood(self):
    """Many large puts at a time, from processes of their own."""
    value = self.large_value()
    command = [self.cluster.binary("kamino"), f"--seeds={self.cluster.seeds}"]
    return [subprocess.Popen(
        command + ["put", f"flood/{i}", value, "--timeout=10s"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for i in range(12)]

  def check_ends_with_a_line(self, name):
    self.kamino("put", "before", "kept")
    bound_memory(self.cluster.state["processes"][name]["pid"], 1 << 20)
    for _ in range(20):
      if not self.cluster.alive(name):
        break
      for process in self.flood():
        process.wait()
    wait_until(lambda: not self.cluster.alive(name), 10, f"{name} to end")
    # Other threads go on for a moment, and may have a line of their own.
    self.assertIn(LINE, self.cluster.log_tail(name, 5))
    self.cluster.await_chain([n for n in self.order if n != name], timeout=30)
    self.assertEqual(self.kamino("get", "before"), "kept\n")
    self.cluster.restart(name)
    self.cluster.await_chain(self.order, timeout=30)

  def setUp(self):
    super().setUp()
    self.order, _ = self.cluster.chain()

  def test_head(self):
    self.check_ends_with_a_line(self.order[0])

  def test_middle(self):
    self.check_ends_with_a_line(self.order[1])


if __name__ == "__main__":
  main()
