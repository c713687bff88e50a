"""An etcd that was put back from an older copy, or emptied: the chain stops and
says so, and goes on with all it has acknowledged when an operator recovers."""

import json
import os
import shutil
import signal

from harness import ClusterTest, main, wait_until

WHY = "the views stored at etcd are not the newest"


class OldStoreTest(ClusterTest):
  # Long enough for a process to be started on a machine that is busy.
  start = {"heap_mb": 16, "ring_mb": 16, "nodes": 3,
           "failure_timeout_ms": 2000}

  def setUp(self):
    super().setUp()
    self.loaded = {}
    self.put("before", 10)
    self.order, _ = self.cluster.chain()
    managers = self.cluster.addresses_of(["manager"])
    self.managers = f"--managers={','.join(managers)}"

  def put(self, prefix, count):
    path = os.path.join(self.folder, prefix + ".tsv")
    more = {f"{prefix}/{i:04d}": f"{prefix} {i}" for i in range(count)}
    with open(path, "w", encoding="ascii") as f:
      f.writelines(f"{key}\t{value}\n" for key, value in more.items())
    self.kamino("load", "tsv", path)
    self.loaded.update(more)

  def admin(self, *words, **expected):
    return self.kamino("admin", *words, self.managers, **expected)

  def store(self):
    return os.path.join(self.cluster.folder, "etcd")

  def copy_store(self):
    copy = os.path.join(self.folder, "etcd.copy")
    self.cluster.kill("etcd", signal.SIGSTOP)
    try:
      shutil.copytree(self.store(), copy)
    finally:
      self.cluster.kill("etcd", signal.SIGCONT)
    return copy

  def put_back(self, copy):
    """None: it is emptied."""
    self.cluster.kill("etcd")
    shutil.rmtree(self.store())
    if copy is not None:
      shutil.copytree(copy, self.store())
    self.cluster.restart("etcd")
    self.cluster.kill("manager")
    self.cluster.restart("manager")

  def lose_tail(self):
    """The chain goes on without it, in a later view."""
    tail = self.order[-1]
    self.cluster.kill(tail)
    self.cluster.await_chain(self.order[:-1], timeout=30)
    self.put("later", 50)
    return tail

  def check_recovers(self, members):
    wait_until(lambda: WHY in self.cluster.log_tail("manager", 50), 30,
               "the manager to see that the store is behind")
    self.assertIn("kamino admin recover", self.cluster.log_tail("manager", 50))
    self.assertIn(WHY, self.admin("status"))
    names = ", ".join(members)
    plan = self.admin("recover")
    self.assertIn(f"the chain would go on in view 3 with {names}", plan)
    self.assertIn("all that was acknowledged", plan)
    self.assertIn("kamino admin recover --confirm", plan)
    self.assertIs(json.loads(self.admin("recover", "--json"))["confirmed"],
                  False)
    # Only said so far.
    self.assertIn(WHY, self.admin("status"))
    self.assertNotIn("the chain forms once", self.admin("status"))
    done = self.admin("recover", "--confirm")
    self.assertIn(f"the chain goes on in view 3 with {names}", done)
    self.cluster.await_chain(members, timeout=30)
    found = dict(line.split("\t") for line in
                 self.kamino("scan").splitlines())
    self.assertEqual(found, self.loaded)
    self.assertNotIn(WHY, self.admin("status"))
    self.admin("recover", "--confirm", expect=1)

  def check_joins_again(self, name):
    self.cluster.restart(name)
    self.cluster.await_chain(self.order, timeout=30)
    self.put("after", 3)

  def test_the_chain_recovers_from_an_old_store(self):
    copy = self.copy_store()
    tail = self.lose_tail()
    self.put_back(copy)
    self.check_recovers(self.order[:-1])
    self.check_joins_again(tail)

  def test_the_chain_recovers_from_an_empty_store(self):
    tail = self.lose_tail()
    self.put_back(None)
    self.check_recovers(self.order[:-1])
    self.check_joins_again(tail)


if __name__ == "__main__":
  main()
