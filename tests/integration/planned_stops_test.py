"""Planned stops of nodes: one after the other under a load, all at once,
twice, and without an answer."""

import itertools
import json
import os
import signal

from harness import ENDLESS, ClusterTest, Load, main, wait_until

GONE_S = 10


class PlannedStopTest(ClusterTest):

  def admin(self, *words):
    managers = self.cluster.state["addresses"]["manager"]
    return self.kamino("admin", *words, f"--managers={managers}",
                       "--timeout=30s")

  def pid(self, name):
    return self.cluster.state["processes"][name]["pid"]

  def tell(self, *names):
    for name in names:
      os.kill(self.pid(name), signal.SIGTERM)

  def signals_wait(self, name):
    """Whether one that it was sent has not been taken by it."""
    with open(f"/proc/{self.pid(name)}/status", encoding="ascii") as f:
      return any(int(line.split()[1], 16) for line in f
                 if line.startswith(("SigPnd:", "ShdPnd:")))

  def await_end(self, *names):
    wait_until(lambda: not any(self.cluster.alive(n) for n in names), GONE_S,
               f"{', '.join(names)} to end")

  def log(self, name):
    with open(self.cluster.log_path(name), encoding="utf-8") as log:
      return log.read()

  def node(self, name):
    cluster = json.loads(self.admin("status", "--json"))
    return next(n for n in cluster["nodes"] if n["member"]["node_id"] == name)

  def await_whole(self):
    def whole():
      chain, _ = self.cluster.chain()
      return sorted(chain) == sorted(self.cluster.nodes)
    wait_until(whole, 60, "the chain to be whole")


class OneByOneTest(PlannedStopTest):

  def test_rolling_restart(self):
    """Head, middle and tail; no request fails, and no head is on probation."""
    self.open_bank()
    load = Load(self.cluster, count=ENDLESS)
    load.await_acked(500)
    for name in list(self.cluster.chain()[0]):
      self.tell(name)
      self.await_end(name)
      chain, _ = self.cluster.chain()
      self.assertNotIn(name, chain)
      node = self.node(name)
      self.assertTrue(node["away"], node)
      self.assertIn(f"away, in a planned stop: {name}", self.kamino("status"))
      self.assertIn("its place is kept for", self.admin("status"))
      load.await_acked(load.acked() + 100)
      self.cluster.restart(name)
      self.await_whole()
    for name in self.cluster.nodes:
      self.assertIn("the chain continues without this node", self.log(name))
      self.assertNotIn("a head died", self.log(name))
    self.check_bank(load)

  def test_a_spare_does_not_take_the_place(self):
    self.cluster.start_node("spare")
    chain, _ = self.cluster.chain()
    self.tell(chain[-1])
    self.await_end(chain[-1])
    self.kamino("put", "a", "b")
    _, view = self.cluster.chain()
    def calls_in_view():
      report = self.node("spare")["report"]
      return int(report["call"]) if int(report["view_id"]) >= view else 0
    heard = wait_until(calls_in_view, 20, "the spare to hear of the view")
    # A spare that may take the place does so within two or three calls.
    wait_until(lambda: calls_in_view() > heard + 20, 20,
               "the spare to ask again and again")
    self.assertEqual(self.cluster.chain(), (chain[:-1], view))
    self.cluster.restart(chain[-1])
    self.cluster.await_chain(chain, 60)


class AllTest(PlannedStopTest):
  start = {"nodes": 3}

  def test_all_at_once_in_all_orders(self):
    self.kamino("put", "before", "all")
    for i, order in enumerate(itertools.permutations(self.cluster.nodes)):
      self.kamino("put", f"key{i}", str(i))
      self.tell(*order)
      self.await_end(*order)
      for name in reversed(order):
        self.cluster.restart(name)
      self.await_whole()
      for j in range(i + 1):
        self.assertEqual(self.kamino("get", f"key{j}"), f"{j}\n")

  def test_a_second_stopped_member_keeps_its_place(self):
    chain, _ = self.cluster.chain()
    self.tell(chain[0])
    self.await_end(chain[0])
    self.tell(chain[1])
    self.await_end(chain[1])
    self.assertIn("keeps its place", self.log(chain[1]))
    self.assertIn("more members were stopped than", self.admin("status"))
    self.cluster.restart(chain[1])
    self.kamino("put", "after", "it")
    self.cluster.restart(chain[0])
    self.await_whole()


class UnansweredStopTest(PlannedStopTest):

  def test_without_a_manager_a_node_stops_and_keeps_its_place(self):
    chain, _ = self.cluster.chain()
    self.cluster.kill("manager")
    self.tell(chain[1])
    self.await_end(chain[1])
    self.assertIn("kamino_node has ended after signal TERM",
                  self.log(chain[1]).splitlines()[-1])
    self.cluster.restart(chain[1])
    self.cluster.restart("manager")
    self.cluster.await_chain(chain, 60)

  def test_without_etcd_a_node_stops(self):
    chain, _ = self.cluster.chain()
    self.cluster.kill("etcd", signal.SIGSTOP)
    self.tell(chain[0])
    self.await_end(chain[0])
    self.cluster.kill("etcd", signal.SIGCONT)
    self.cluster.restart(chain[0])
    self.await_whole()
    self.kamino("put", "after", "that")

  def test_a_second_signal_ends_the_wait(self):
    chain, _ = self.cluster.chain()
    self.cluster.kill("manager")
    self.tell(chain[1])
    wait_until(lambda: not self.signals_wait(chain[1]), 10,
               "it to have taken the first")
    self.tell(chain[1])
    self.await_end(chain[1])
    # The second signal ended it, not the end of its wait for an answer.
    self.assertIn("it was asked to end once more", self.log(chain[1]))


if __name__ == "__main__":
  main()
