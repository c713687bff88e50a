"""Returning members receive what changed meanwhile, and no more."""

import json

from harness import ENDLESS, ClusterTest, Load, main, wait_until

HEAP_MB = 128
VALUE = 16 << 10


class CatchUpTest(ClusterTest):
  start = {"heap_mb": HEAP_MB,
           "node_flags": ("--scrub_mb_per_s=1000", "--scrub_min_pass_s=0")}

  def statuses(self):
    lines = self.kamino("status", "--json").splitlines()
    return {node["node_id"]: node for node in map(json.loads, lines[1:])}

  def put(self, count):
    self.kamino("bench", "put", f"--value_size={VALUE}", "--keys=4000",
                f"--count={count}", "--in_order", "--outstanding=32")

  def comes_back(self, victim):
    chain, _ = self.cluster.chain()
    self.cluster.restart(victim)
    self.cluster.await_chain([n for n in chain if n != victim] + [victim], 30)
    return self.statuses()[victim]["transfer"]

  def check_alike(self):
    """Compared byte for byte, by the members themselves."""
    def compared():
      nodes = self.statuses()
      self.assertEqual(len(nodes), 4)
      scrubs = [node["scrub"] for node in nodes.values()]
      self.assertEqual([int(s.get("differences", 0)) for s in scrubs],
                       [0] * 4)
      return (len({(n["applied"], n["objects"]) for n in nodes.values()}) == 1
              and max(int(s.get("passes", 0)) for s in scrubs) > passes + 1)
    passes = max(int(node["scrub"].get("passes", 0))
                 for node in self.statuses().values())
    wait_until(compared, 60, "the members to compare what they hold")

  def test_a_member_receives_changed_pages_only(self):
    self.put(4000)
    for position in (-1, 0, 1):
      chain, _ = self.cluster.chain()
      victim = chain[position]
      rest = [n for n in chain if n != victim]
      self.cluster.kill(victim)
      self.cluster.await_chain(rest, 20)
      self.put(HEAP_MB * (1 << 20) // 100 // VALUE)
      transfer = self.comes_back(victim)
      self.assertTrue(transfer.get("of_changes"), transfer)
      sent = int(transfer["bytes"])
      self.assertGreater(sent, HEAP_MB * (1 << 20) // 100)
      self.assertLess(sent, HEAP_MB * (1 << 20) // 50)
    self.check_alike()

  def test_under_load(self):
    self.open_bank()
    load = Load(self.cluster, count=ENDLESS)
    load.await_acked(1000)
    for position in (0, 1, -1):
      chain, _ = self.cluster.chain()
      victim = chain[position]
      self.cluster.kill(victim)
      self.cluster.await_chain([n for n in chain if n != victim], 20)
      load.await_acked(load.acked() + 100)
      self.assertTrue(self.comes_back(victim).get("of_changes"))
    self.check_bank(load)
    self.check_alike()


class WithoutTest(ClusterTest):
  """A release that keeps no changes asks for the whole heap."""
  start = {"node_flags": ("--keep_changes_s=0",)}

  def test_a_node_receives_the_whole_heap(self):
    self.kamino("bench", "put", f"--value_size={VALUE}", "--keys=500",
                "--count=500", "--in_order", "--outstanding=32")
    chain, _ = self.cluster.chain()
    self.cluster.kill(chain[-1])
    self.cluster.await_chain(chain[:-1], 20)
    self.kamino("put", "b", "2")
    self.cluster.restart(chain[-1])
    self.cluster.await_chain(chain, 30)
    transfers = {}
    for line in self.kamino("status", "--json").splitlines()[1:]:
      node = json.loads(line)
      transfers[node["node_id"]] = node["transfer"]
    for node, transfer in transfers.items():
      self.assertEqual(int(transfer["caught_up"]), 0, node)
      whole = {why: int(count) for why, count in transfer["whole"].items()}
      self.assertEqual(whole.pop("nothing_held"), int(node == chain[-2]), node)
      self.assertEqual(set(whole.values()), {0}, node)
    # All that was there before as well.
    self.assertGreater(int(transfers[chain[-1]]["bytes"]), 500 * VALUE)


if __name__ == "__main__":
  main()
