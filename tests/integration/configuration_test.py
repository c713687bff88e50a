"""Settings that all nodes of a chain must share: a node with other ones is
refused at its start, and all can be changed together."""

import json

from harness import ClusterTest, free_port, main, wait_until


class ConfigurationTest(ClusterTest):
  start = {"nodes": 3, "heap_mb": 64, "ring_mb": 64, "managers": 2}

  def refused(self, name, *flags):
    """Runs a node that must not start; its last line."""
    address = f"127.0.0.1:{free_port()}"
    done = self.run_program(*self.cluster.node_command(name, address), *flags)
    self.assertEqual(done.returncode, 1, done.stderr)
    return done.stderr.strip().splitlines()[-1]

  def status(self, *flags):
    managers = ",".join(self.cluster.addresses_of(self.cluster.managers))
    return self.kamino("admin", "status", f"--managers={managers}", *flags)

  def alive(self):
    """Nodes that the manager has heard of lately."""
    status = json.loads(self.status("--json"))
    return [n["member"]["node_id"] for n in status["nodes"] if n.get("alive")]

  def rings(self):
    lines = self.kamino("status", "--json").splitlines()
    return {int(json.loads(line)["ring_bytes_total"]) >> 20
            for line in lines[1:]}

  def test_a_node_with_another_ring_is_refused(self):
    line = self.refused("x2", "--ring_mb=16")
    self.assertRegex(line, r"ring_mb\) is 16384 at x2, but 65536 at n[123]; "
                           r"all nodes of a chain must have it in common")
    # Likewise a member that returns with another one.
    self.cluster.kill("n3")
    line = self.refused("n3", "--ring_mb=32")
    self.assertRegex(line, r"ring_mb\) is 32768 at n3, but 65536 at n[12]")
    self.cluster.await_chain(["n1", "n2"])
    self.cluster.restart("n3")
    self.cluster.await_chain(["n1", "n2", "n3"], timeout=30)
    self.assertEqual(self.rings(), {63})  # a page of it is the header

    self.assertIn("node x2 was refused", self.status())

  def test_a_manager_with_another_length_is_named(self):
    status = json.loads(self.status("--json"))
    self.assertEqual(status["managers_differ"], [])
    addresses = self.cluster.state["addresses"]
    standby = next(name for name in self.cluster.managers
                   if addresses[name] != status["leader"])
    self.cluster.kill(standby)
    arguments = self.cluster.state["manager_args"]
    arguments[arguments.index("--chain_length=3")] = "--chain_length=2"
    self.cluster.restart(standby)
    said = (f"the manager at {addresses[standby]} was started with another "
            "--chain_length (2 here, 3 there) than the one at "
            f"{status['leader']}, which leads")
    wait_until(lambda: said in self.status(), 10, "the manager to be named")
    self.assertIn(said, self.cluster.log_tail(standby, 50))
    self.assertEqual(json.loads(self.status("--json"))["chain_length"], 3)

  def test_all_are_changed_together(self):
    chain, _ = self.cluster.chain()
    self.kamino("put", "a", "1")
    for name in chain:
      self.cluster.kill(name)
    wait_until(lambda: not self.alive(), 10, "the manager to miss all nodes")
    arguments = self.cluster.state["node_args"]
    arguments[arguments.index("--ring_mb=64")] = "--ring_mb=16"
    for name in chain:
      self.cluster.restart(name)
    self.cluster.await_chain(chain, timeout=30)
    self.assertEqual(self.kamino("get", "a"), "1\n")
    self.assertEqual(self.rings(), {15})
    self.kamino("put", "a", "2")
    self.assertEqual(self.kamino("get", "a"), "2\n")


if __name__ == "__main__":
  main()
