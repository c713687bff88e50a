"""A node whose files were put back from an older copy: it stops and says so,
the others go on with all they have acknowledged."""

import os
import shutil
import signal

from harness import ClusterTest, main, wait_until
from processes import ClusterError


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
    """The same in operations of their own."""
    for i in range(count):
      self.kamino("put", f"{prefix}/{i:04d}", str(i))
      self.loaded[f"{prefix}/{i:04d}"] = str(i)

  def copy_of(self, name):
    """What its files hold at one moment."""
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
    """It may end again at once."""
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

  def test_head_after_all_were_down(self):
    self.power_cut(0)

  def test_tail_after_all_were_down(self):
    self.power_cut(-1)


if __name__ == "__main__":
  main()
