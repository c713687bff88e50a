"""A byte of an object changes in a node's heap, where no client reads it: the
other nodes find out, the node ends, and joins anew."""

import json
import os
import signal

from harness import ClusterTest, main, wait_until
from processes import ClusterError

CHANGED = "bits of what this node holds have changed"
COLD = "cold-" + "0123456789" * 30


class ScrubTest(ClusterTest):
  start = {"nodes": 3, "heap_mb": 16, "ring_mb": 16,
           "node_flags": ("--scrub_mb_per_s=32", "--scrub_min_pass_s=0")}

  def setUp(self):
    super().setUp()
    self.kamino("put", "cold", COLD)
    self.order, _ = self.cluster.chain()

  def status(self):
    """Status of the chain's head, as JSON."""
    nodes = [json.loads(line) for line in
             self.kamino("status", "--json").splitlines()[1:]]
    return next(n for n in nodes if n["role"] in ("head", "single"))

  def passes(self):
    return int(self.status()["scrub"].get("passes", 0))

  def await_passes(self, more=1):
    """Whole ones, from now on."""
    goal = self.passes() + more + 1
    wait_until(lambda: self.passes() >= goal, 60, "a whole pass")

  def change(self, name):
    """Changes it in the file, which a running process has mapped."""
    path = os.path.join(self.cluster.data_dir(name), "heap.pmem")
    with open(path, "r+b") as heap:
      place = heap.read().find(COLD.encode())
      self.assertGreater(place, 0)
      heap.seek(place + 100)
      heap.write(b"?")

  def check_ends(self, name):
    wait_until(lambda: not self.cluster.alive(name), 60, f"{name} to end")
    self.assertIn(CHANGED, self.cluster.log_tail(name, 3))

  def check_joins_anew(self, name):
    rest = [n for n in self.order if n != name]
    self.cluster.await_chain(rest, timeout=30)
    self.assertEqual(self.kamino("get", "cold"), COLD + "\n")
    self.cluster.restart(name)
    self.cluster.await_chain(self.order, timeout=30)
    self.await_passes()
    for each in self.order:
      self.assertTrue(self.cluster.alive(each), self.cluster.log_tail(each))
    self.kamino("put", "after", "1")
    self.assertEqual(self.kamino("get", "cold"), COLD + "\n")


class OneOfThreeTest(ScrubTest):

  def test_corruption_of_the_running_middle(self):
    self.await_passes()
    self.change(self.order[1])
    self.check_ends(self.order[1])
    self.check_joins_anew(self.order[1])

  def test_corruption_of_the_running_head(self):
    self.change(self.order[0])
    self.check_ends(self.order[0])
    self.check_joins_anew(self.order[0])

  def test_corruption_of_the_stopped_tail(self):
    self.cluster.kill(self.order[-1], signal.SIGKILL)
    self.change(self.order[-1])
    self.cluster.restart(self.order[-1])
    self.check_ends(self.order[-1])
    self.check_joins_anew(self.order[-1])

  def test_status_shows_the_scrub(self):
    self.await_passes()
    scrub = self.status()["scrub"]
    self.assertTrue(scrub["on"])
    # No faster than 16 MB at 32 MB/s.
    self.assertGreater(int(scrub["took_ms"]), 400)
    self.assertEqual(int(scrub.get("differences", 0)), 0)
    self.assertRegex(self.kamino("status"),
                     r"\nscrub: (\d+% of this pass|between two passes); the "
                     r"last one took \S+ and ended \S+ ago\n")
    self.change(self.order[-1])
    self.check_ends(self.order[-1])
    # The node ended after its predecessor had heard of it.
    wait_until(lambda: int(self.status()["scrub"].get("differences", 0)) > 0,
               30, "the head to count a difference")
    self.assertIn(f"{self.order[-1]} holds other bytes than the chain wrote",
                  self.kamino("status"))


class MediumTest(ScrubTest):

  def test_a_truncated_file_ends_the_node_for_good(self):
    name = self.order[1]
    folder = self.cluster.data_dir(name)
    path = os.path.join(folder, "heap.pmem")
    with open(path, "rb") as heap:
      place = heap.read().find(COLD.encode())
    self.assertGreater(place, 0)
    os.truncate(path, place // 4096 * 4096)
    wait_until(lambda: not self.cluster.alive(name), 60, f"{name} to end")
    self.assertRegex(self.cluster.log_tail(name, 3),
                     r"cannot read .*/heap\.pmem at byte \d+: the file is "
                     r"shorter than it was")
    self.assertTrue(os.path.exists(os.path.join(folder, "damage.txt")))
    self.cluster.await_chain([n for n in self.order if n != name], timeout=30)
    self.assertEqual(self.kamino("get", "cold"), COLD + "\n")
    try:
      self.cluster.restart(name)
    except ClusterError:
      pass  # it has ended by then
    wait_until(lambda: not self.cluster.alive(name), 20, f"{name} to end")
    tail = self.cluster.log_tail(name, 3)
    self.assertIn("damage.txt: an earlier process of this node cannot read",
                  tail)
    self.assertIn("joins as a new node", tail)


class TwoTest(ScrubTest):
  start = {**ScrubTest.start, "nodes": 2}

  def test_earlier_sums_identify_the_corrupt_node(self):
    self.await_passes()
    self.change(self.order[-1])
    self.check_ends(self.order[-1])
    self.check_joins_anew(self.order[-1])


class OffTest(ScrubTest):
  start = {**ScrubTest.start, "node_flags": ("--scrub_mb_per_s=0",)}

  def test_nothing_is_compared(self):
    self.assertIn("\nscrub: off\n", self.kamino("status"))


del ScrubTest


if __name__ == "__main__":
  main()
