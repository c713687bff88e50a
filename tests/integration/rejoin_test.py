"""Returning nodes: at once, late, all together, and new ones."""

import json
import os
import signal

from harness import ENDLESS, ClusterTest, Load, main, wait_until


class RejoinTest(ClusterTest):

  def admin(self, *words, expect=0, stderr=None):
    managers = self.cluster.state["addresses"]["manager"]
    return self.kamino("admin", *words, f"--managers={managers}",
                       "--timeout=30s", expect=expect, stderr=stderr)

  def statuses(self):
    lines = self.kamino("status", "--json").splitlines()
    return [json.loads(line) for line in lines[1:]]

  def check_equal_heaps(self):
    """The same operations and objects everywhere, once all is quiet."""
    def equal():
      nodes = self.statuses()
      return len({(n["applied"], n["objects"]) for n in nodes}) == 1
    wait_until(equal, 20, "all nodes to hold the same")

  def check_serves(self):
    self.kamino("put", "after", "all")
    self.assertEqual(self.kamino("get", "after"), "all\n")

  def reboot_under_load(self, position):
    self.open_bank()
    load = Load(self.cluster, count=ENDLESS)
    load.await_acked(2000)
    chain, view = self.cluster.chain()
    self.cluster.kill(chain[position])
    self.cluster.restart(chain[position])
    # Its place, and no other view than that.
    wait_until(lambda: self.cluster.chain() == (chain, view + 1), 20,
               "the node to have its place again")
    load.await_acked(load.acked() + 100)
    self.check_bank(load)
    self.assertEqual(self.cluster.chain(), (chain, view + 1))
    self.check_equal_heaps()
    self.check_serves()


class OrderlyEndTest(RejoinTest):

  def test_heads_one_after_the_other(self):
    """Each is on probation, as the one before it has ended a moment ago."""
    self.open_bank()
    load = Load(self.cluster, count=ENDLESS)
    for _ in range(3):
      load.await_acked(load.acked() + 100)
      chain, _ = self.cluster.chain()
      self.cluster.kill(chain[0], signal.SIGTERM)
      self.cluster.await_chain(chain[1:], 20)
      load.await_acked(load.acked() + 10)
      self.cluster.restart(chain[0])
      self.cluster.await_chain(chain[1:] + chain[:1], 20)
    for node in self.cluster.nodes:
      with open(self.cluster.log_path(node), encoding="utf-8") as log:
        self.assertNotIn("a head died", log.read())
    self.check_bank(load)


class QuickRebootTest(RejoinTest):
  # Long enough for a process to be started on a machine that is busy.
  start = {"failure_timeout_ms": 4000}

  def test_head(self):
    self.reboot_under_load(0)

  def test_middle(self):
    self.reboot_under_load(1)

  def test_tail(self):
    self.reboot_under_load(-1)


class CrashLoopTest(RejoinTest):
  start = {"failure_timeout_ms": 4000, "node_flags": ["--restart_limit=2"]}

  def await_restarts(self, name, count):
    """The count tells the former member from the present one."""
    def told():
      return [node.get("restarts", 0) for node in self.statuses()
              if node["node_id"] == name] == [count]
    wait_until(told, 20, f"{name} to say that it was restarted {count} times")

  def test_a_node_that_dies_repeatedly_stays_down(self):
    chain, _ = self.cluster.chain()
    name = chain[-1]
    address = self.cluster.state["addresses"][name]
    self.cluster.kill(name)
    self.cluster.restart(name)
    self.await_restarts(name, 1)
    self.assertIn("RESTARTS", self.kamino("status"))
    self.cluster.kill(name)
    refused = self.run_program(*self.cluster.node_command(name, address))
    self.assertEqual(refused.returncode, 1)
    self.assertIn("has died 2 times", refused.stderr.splitlines()[-1])
    self.assertIn("--restart_limit=0", refused.stderr.splitlines()[-1])
    self.kamino("put", "the", "others")  # once it was dropped
    # An operator looks into it, and a start that ends in order is as any.
    self.cluster.state["node_args"].append("--restart_limit=0")
    self.cluster.restart(name)
    self.cluster.await_chain(chain)
    self.await_restarts(name, 2)
    self.cluster.kill(name, signal.SIGTERM)
    self.cluster.state["node_args"].pop()
    self.cluster.restart(name)
    self.await_restarts(name, 0)
    self.check_serves()


class SlowRebootTest(RejoinTest):

  def test_each_node_joins_as_the_tail(self):
    self.open_bank()
    load = Load(self.cluster, count=ENDLESS)
    load.await_acked(1000)
    for position in (0, 1, -1):
      chain, _ = self.cluster.chain()
      victim = chain[position]
      rest = [n for n in chain if n != victim]
      self.cluster.kill(victim)
      self.cluster.await_chain(rest)
      self.cluster.restart(victim)
      wait_until(lambda r=rest, v=victim: self.cluster.chain()[0] == r + [v],
                 20, f"{victim} to join as the tail")
    self.check_bank(load)
    self.check_equal_heaps()
    self.check_serves()

  def test_a_node_with_lost_data_joins(self):
    self.kamino("put", "a", "1")
    chain, _ = self.cluster.chain()
    self.cluster.kill(chain[0])
    self.cluster.await_chain(chain[1:])
    folder = self.cluster.data_dir(chain[0])
    for name in os.listdir(folder):
      if name.endswith(".pmem"):
        os.remove(os.path.join(folder, name))
    self.cluster.restart(chain[0])
    self.cluster.await_chain(chain)
    self.check_equal_heaps()
    self.check_serves()
    self.assertEqual(self.kamino("get", "a"), "1\n")


class AdminTest(RejoinTest):

  def await_order(self, expected):
    """Waits for the stored view; nodes learn it by their next heartbeats."""
    wait_until(lambda: self.cluster.chain()[0] == expected, 20,
               f"the chain to be {' '.join(expected)}")

  def test_remove_add_and_drain(self):
    self.kamino("put", "a", "1")
    chain, _ = self.cluster.chain()
    wait_until(lambda: "sound" in self.admin("status"), 20,
               "the first reports")
    # The head leaves, and there is no spare.
    self.admin("remove", chain[0])
    self.await_order(chain[1:])
    self.kamino("put", "a", "2")
    self.admin("drain", chain[1], expect=1, stderr="there is no spare")
    self.admin("add", chain[0])
    self.await_order(chain[1:] + chain[:1])
    # One more node: there is a spare for the place of a drained one.
    self.cluster.start_node("n5")
    def known():
      return '"n5"' in self.admin("status", "--json")
    wait_until(known, 10, "n5 to register")
    self.assertIn("spare\n", self.admin("status"))
    managers = self.cluster.state["addresses"]["manager"]
    self.assertIn("\nspare: n5\n",
                  self.kamino("status", f"--managers={managers}"))
    self.admin("drain", chain[1])
    self.await_order(chain[2:] + chain[:1] + ["n5"])
    self.admin("remove", "n9", expect=1, stderr="no node n9")
    self.check_equal_heaps()
    self.check_serves()


class PowerCutTest(RejoinTest):

  def cut_power(self):
    self.open_bank()
    load = Load(self.cluster, count=ENDLESS)
    load.await_acked(3000)
    chain, _ = self.cluster.chain()
    for name in chain + ["manager", "etcd"]:
      os.kill(self.cluster.state["processes"][name]["pid"], signal.SIGKILL)
    for name in chain + ["manager", "etcd"]:
      wait_until(lambda n=name: not self.cluster.alive(n), 10, f"{name}'s end")
    return chain, load

  def test_all_come_back(self):
    chain, load = self.cut_power()
    self.cluster.restart()
    self.cluster.await_chain(chain)
    self.check_bank(load)
    self.check_equal_heaps()
    self.check_serves()

  def test_one_node_is_not_enough_and_two_are(self):
    chain, load = self.cut_power()
    for name in ("etcd", "manager", chain[2]):
      self.cluster.restart(name)
    address = self.cluster.state["addresses"][chain[2]]
    # A clear refusal: it names the missing nodes.
    def refused():
      return "waits for" in self.cluster.log_tail("manager")
    wait_until(refused, 20, "the manager to say whom it waits for")
    done = self.cluster.kamino("get", "after", "--timeout=1s", check=False,
                               seeds=address)
    self.assertNotEqual(done.returncode, 0)
    cluster = json.loads(self.admin("status", "--json"))
    self.assertEqual([n["member"]["node_id"] for n in cluster["nodes"]], chain)
    self.assertEqual([n["alive"] for n in cluster["nodes"]],
                     [name == chain[2] for name in chain])
    self.cluster.restart(chain[1])
    self.cluster.await_chain(chain[1:3], timeout=30)
    self.check_bank(load)
    self.check_equal_heaps()
    self.check_serves()


if __name__ == "__main__":
  main()
