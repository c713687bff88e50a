"""A node with a stale copy of its files stops and says so; the others go on
with all they have acknowledged."""

import json
import os
import shutil
import signal

from harness import ClusterTest, main, wait_until
from processes import ClusterError


WAITS = "the chain waits for newer files: acknowledged up to"


class StaleCopyTest(ClusterTest):
  # Long enough for a process to be started on a machine that is busy.
  start = {"heap_mb": 16, "ring_mb": 16, "failure_timeout_ms": 6000}

  def setUp(self):
    super().setUp()
    self.loaded = {}
    self.load("before", 20)
    self.order, _ = self.cluster.chain()

  def load(self, prefix, count):
    """Puts that many objects, all of them acknowledged."""
    path = os.path.join(self.folder, prefix + ".tsv")
    more = {f"{prefix}/{i:04d}": f"{prefix} {i}" for i in range(count)}
    with open(path, "w", encoding="ascii") as f:
      f.writelines(f"{key}\t{value}\n" for key, value in more.items())
    self.kamino("load", "tsv", path)
    self.loaded.update(more)

  def put_each(self, prefix, count):
    """Puts the objects in operations of their own."""
    for i in range(count):
      self.kamino("put", f"{prefix}/{i:04d}", str(i))
      self.loaded[f"{prefix}/{i:04d}"] = str(i)

  def copy_of(self, name):
    """Copies its files as they are at one moment."""
    copy = os.path.join(self.folder, name + ".copy")
    self.cluster.kill(name, signal.SIGSTOP)
    try:
      shutil.copytree(self.cluster.data_dir(name), copy,
                      ignore=lambda _, names: [n for n in names
                                               if not n.endswith(".pmem")])
    finally:
      self.cluster.kill(name, signal.SIGCONT)
    return copy

  def put_back(self, name, copy):
    for file in os.listdir(copy):
      shutil.copyfile(os.path.join(copy, file),
                      os.path.join(self.cluster.data_dir(name), file))

  def restart(self, name):
    """Restarts a node, which may end again at once."""
    try:
      self.cluster.restart(name)
    except ClusterError:
      if self.cluster.alive(name):
        raise

  def check_stopped(self, name):
    wait_until(lambda: not self.cluster.alive(name), 20, f"{name} to stop")
    line = self.cluster.log_tail(name, 1)
    self.assertIn(f"node {name} is on an old copy of its data", line)
    self.assertIn("joins as a new node", line)

  def check_holds_all(self):
    found = dict(line.split("\t") for line in
                 self.kamino("scan").splitlines())
    self.assertEqual(found, self.loaded)

  def check_joins_anew(self, name):
    folder = self.cluster.data_dir(name)
    for file in os.listdir(folder):
      if file.endswith(".pmem"):
        os.remove(os.path.join(folder, file))
    self.cluster.restart(name)
    self.cluster.await_chain(self.order, timeout=30)
    self.put_each("after", 3)
    self.check_holds_all()

  def go_back(self, position):
    """A quick restart, on a copy of before a hundred acknowledged puts."""
    name = self.order[position]
    rest = [n for n in self.order if n != name]
    copy = self.copy_of(name)
    self.put_each("later", 100)
    self.cluster.kill(name)
    self.put_back(name, copy)
    self.restart(name)
    self.check_stopped(name)
    self.cluster.await_chain(rest, timeout=30)
    for other in rest:
      self.assertTrue(self.cluster.alive(other), self.cluster.log_tail(other))
    self.check_holds_all()
    self.check_joins_anew(name)

  def test_tail(self):
    self.go_back(-1)

  def test_middle(self):
    self.go_back(1)

  def test_head(self):
    self.go_back(0)

  def power_cut(self, position):
    """All restart, one of them on a copy of before."""
    name = self.order[position]
    rest = [n for n in self.order if n != name]
    copy = self.copy_of(name)
    self.put_each("later", 100)
    for each in self.order:
      self.cluster.kill(each)
    self.put_back(name, copy)
    self.restart(name)
    for each in rest:
      self.cluster.restart(each)
    self.check_stopped(name)
    self.cluster.await_chain(rest, timeout=30)
    self.check_holds_all()
    self.check_joins_anew(name)

  # --- All of them.

  def admin(self, *words, **expected):
    managers = ",".join(self.cluster.addresses_of(["manager"]))
    return self.kamino("admin", *words, f"--managers={managers}", **expected)

  def save(self, name):
    """A copy of the files of a node that does not run."""
    copy = os.path.join(self.folder, name + ".newest")
    shutil.copytree(self.cluster.data_dir(name), copy,
                    ignore=lambda _, names: [n for n in names
                                             if not n.endswith(".pmem")])
    return copy

  def all_go_back(self):
    """Everything was down, the manager as well, and all nodes are on copies of
    before a hundred acknowledged puts. Returns what they held last."""
    before = self.acknowledged()
    copies = {name: self.copy_of(name) for name in self.order}
    self.put_each("later", 100)
    # It knows what was acknowledged a heartbeat ago, and says so at its end.
    wait_until(lambda: self.acknowledged() >= before + 100, 20,
               "the manager to hear of what was acknowledged")
    for name in self.order:
      self.cluster.kill(name)
    self.cluster.kill("manager", signal.SIGTERM)
    newest = {name: self.save(name) for name in self.order}
    self.cluster.restart_manager()
    for name, copy in copies.items():
      self.put_back(name, copy)
      self.cluster.restart(name)
    wait_until(lambda: WAITS in self.cluster.log_tail("manager", 50), 60,
               "the manager to say what the chain waits for")
    self.assertIn(WAITS, self.admin("status"))
    status = json.loads(self.admin("status", "--json"))
    self.assertIn("acknowledged up to ", status["waits_for_newer"])
    for name in self.order:
      self.assertTrue(self.cluster.alive(name), self.cluster.log_tail(name))
    read = self.cluster.kamino("get", "later/0001", "--timeout=2s", check=False)
    self.assertNotEqual(read.returncode, 0)
    return newest

  def acknowledged(self):
    status = json.loads(self.admin("status", "--json"))
    return int(status.get("acknowledged", 0))

  def test_all_wait_for_newer_files(self):
    newest = self.all_go_back()
    back = self.order[:2]
    # Both before one is back, by which the other one would be refused.
    for name in back:
      self.cluster.kill(name, signal.SIGTERM)
    for name in back:
      self.put_back(name, newest[name])
      self.cluster.restart(name)
    for name in self.order[2:]:
      self.check_stopped(name)
    self.cluster.await_chain(back, timeout=60)
    self.check_holds_all()
    self.assertNotIn(WAITS, self.admin("status"))

  def test_all_go_on_by_force(self):
    newest = self.all_go_back()
    plan = self.admin("recover")
    self.assertIn("of", plan)
    self.assertIn("that were acknowledged", plan)
    self.admin("recover", "--confirm", expect=1)
    done = self.admin("recover", "--confirm", "--force")
    self.assertIn("the chain goes on in view", done)
    wait_until(lambda: len(self.cluster.chain()[0]) == len(self.order), 60,
               "the others to join anew")
    order, _ = self.cluster.chain()
    self.loaded = {key: value for key, value in self.loaded.items()
                   if not key.startswith("later/")}
    self.check_holds_all()
    self.put_each("after", 3)
    # The newest copy, which was lost, turns up too late.
    head = order[0]
    self.cluster.kill(head)
    self.put_back(head, newest[head])
    self.restart(head)
    wait_until(lambda: not self.cluster.alive(head), 60, f"{head} to stop")
    self.assertIn("holds data of recovery epoch 1",
                  self.cluster.log_tail(head, 1))
    self.check_holds_all()

  def test_head_after_all_were_down(self):
    self.power_cut(0)

  def test_tail_after_all_were_down(self):
    self.power_cut(-1)


if __name__ == "__main__":
  main()
