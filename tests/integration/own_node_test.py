"""A node with a procedure of its own: examples/workspace/."""

import os

from harness import Binaries, ClusterTest, main

GREETER = "examples/workspace/greeter"


class OwnNode(Binaries):
  """The programs of the tree, with the example's node."""

  def path(self, name):
    if name == "kamino_node":
      return os.path.join(self.root, GREETER)
    return super().path(name)


class OwnNodeTest(ClusterTest):
  start = {"nodes": 2, "heap_mb": 16, "ring_mb": 16}

  def programs(self):
    return OwnNode()

  def test_a_custom_node_offers_its_procedures(self):
    self.assertEqual(self.kamino("call", "greeting.greet", "world"),
                     "hello, world\n")
    self.assertEqual(self.kamino("get", "world"), "hello, world\n")
    self.kamino("commit", "put", "alice", "10", "put", "bob", "5")
    self.assertEqual(self.kamino("call", "bank.transfer", "alice bob 3"),
                     "7 8\n")

  def test_a_node_without_the_procedures_is_refused(self):
    """The first view puts the procedures of all its members in force."""
    self.kamino("call", "greeting.greet", "world")
    self.cluster.binaries = Binaries()
    name = self.cluster.chain()[0][-1]
    address = self.cluster.state["addresses"][name]
    self.cluster.kill(name)
    refused = self.run_program(*self.cluster.node_command(name, address))
    self.assertEqual(refused.returncode, 1)
    self.assertIn("greeting.greet", refused.stderr.splitlines()[-1])


if __name__ == "__main__":
  main()
