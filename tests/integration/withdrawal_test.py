"""A release withdraws a procedure, and the next one no longer has it."""

import os
import signal

from harness import Binaries, ClusterTest, main, patience

RELEASES = "tests/integration/stock_node"
JOIN_S = patience(60)


class StockNode(Binaries):
  """The programs of the tree, with a node that has stock.count."""

  def path(self, name):
    if name == "kamino_node":
      return os.path.join(self.root, RELEASES)
    return super().path(name)


class WithdrawalTest(ClusterTest):
  start = {"nodes": 3, "heap_mb": 16, "ring_mb": 16}

  def setUp(self):
    os.environ["STOCK_COUNT"] = "offered"
    self.addCleanup(os.environ.pop, "STOCK_COUNT")
    super().setUp()

  def programs(self):
    return StockNode()

  def count(self):
    return self.kamino("call", "stock.count", "pears")

  def exchange(self, name, release):
    self.cluster.kill(name, signal.SIGTERM)
    self.start_again(name, release)

  def start_again(self, name, release):
    os.environ["STOCK_COUNT"] = release
    self.cluster.restart(name)
    self.cluster.await_chain(self.cluster.nodes, JOIN_S)

  def admin(self, *words):
    managers = ",".join(self.cluster.operators_addresses)
    return self.kamino("admin", *words, f"--managers={managers}")

  def refused_without_it(self, name):
    """What a release that lacks the procedure says, started as that node."""
    self.cluster.kill(name)
    os.environ["STOCK_COUNT"] = "absent"
    address = self.cluster.state["addresses"][name]
    refused = self.run_program(*self.cluster.node_command(name, address))
    self.assertEqual(refused.returncode, 1)
    return refused.stderr.splitlines()[-1]

  def test_withdrawal(self):
    self.assertEqual(self.count(), "1\n")
    last = self.cluster.chain()[0][-1]
    self.assertIn("procedure stock.count is missing",
                  self.refused_without_it(last))
    self.start_again(last, "withdrawn")
    self.assertEqual(self.count(), "2\n")
    self.assertNotIn("withdrawal", self.admin("status"))
    for name in self.cluster.nodes:
      if name != last:
        self.exchange(name, "withdrawn")
    self.assertEqual(self.count(), "3\n")
    self.assertIn("not in force until kamino admin finalize: the withdrawal of "
                  "procedure stock.count\n", self.admin("status"))
    self.assertIn("procedure stock.count is missing",
                  self.refused_without_it(last))
    self.start_again(last, "withdrawn")

    self.assertIn("would put the withdrawal of procedure stock.count in force",
                  self.admin("finalize"))
    self.assertEqual(self.count(), "4\n")
    self.assertIn("the withdrawal of procedure stock.count is in force",
                  self.admin("finalize", "--confirm"))
    self.kamino("call", "stock.count", "pears", expect=1,
                stderr="procedure stock.count was withdrawn")

    for name in self.cluster.nodes:
      self.exchange(name, "absent")
    self.kamino("call", "stock.count", "pears", expect=1,
                stderr='no procedure is named "stock.count"')
    self.assertEqual(self.kamino("get", "pears"), "4\n")
    self.assertIn("nothing to finalize", self.admin("finalize"))
    # The release that withdraws it can return.
    self.exchange(last, "withdrawn")
    self.assertEqual(self.kamino("get", "pears"), "4\n")


if __name__ == "__main__":
  main()
