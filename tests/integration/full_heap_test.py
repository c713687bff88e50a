"""Heaps that a load or a restore fills: the error says what to do, nothing is
lost, and the chain serves and deletes afterwards."""

import json
import os
import re
from random import Random

from harness import ClusterTest, main, scaled
from local_cluster import LocalCluster

NODES = {"nodes": 2, "ring_mb": 16}
VALUE = "x" * 2000
LOADED = re.compile(r"; (\d+) of (\d+) objects are known to be written, and up "
                    r"to \d+ others may be: load the file "
                    r"again once the cause is gone \[heap full\]")


class FullHeapTest(ClusterTest):

  def load(self, cluster, objects):
    """The process that ended; `objects`: pairs."""
    path = os.path.join(self.folder, "objects.tsv")
    with open(path, "w", encoding="ascii") as f:
      f.writelines(f"{key}\t{value}\n" for key, value in objects)
    return cluster.kamino("load", "tsv", path, check=False, timeout=120)

  def head_of(self, cluster):
    """The head's status."""
    lines = cluster.kamino("status", "--json").stdout.splitlines()
    return next(status for status in map(json.loads, lines[1:])
                if "heap_room" in status)

  def objects_of(self, cluster):
    lines = cluster.kamino("scan", timeout=60).stdout.splitlines()
    return dict(line.split("\t") for line in lines)


class LoadTest(FullHeapTest):
  start = {**NODES, "heap_mb": 8}

  def delete(self, keys):
    """A few in each commit."""
    for i in range(0, len(keys), 20):
      words = [word for key in keys[i:i + 20] for word in ("del", key)]
      self.kamino("commit", "then", *words)

  def check_bound(self, error):
    """The text names the bound that decided."""
    told = re.search(r"would leave (\d+) of (?:the last )?\d+ bytes; a request "
                     r"that .* must leave (\d+); ", error)
    if told is None:
      self.assertIn("this request would take pages of the last ", error)
    else:
      self.assertLess(int(told.group(1)), int(told.group(2)), error)

  def fill_up(self, prefix, size):
    """Puts objects until one is refused; those that are there."""
    objects = {}
    while True:
      key, value = f"{prefix}{len(objects)}", "x" * size
      done = self.cluster.kamino("put", key, value, check=False)
      if done.returncode != 0:
        self.assertIn("heap full", done.stderr)
        self.check_bound(done.stderr)
        return objects
      objects[key] = value

  def test_fills_the_heap(self):
    self.assertFalse(self.head_of(self.cluster)["heap_room"]["full"])
    self.assertNotIn("full", self.kamino("status"))
    objects = {f"k{i:06d}": VALUE for i in range(9000)}
    done = self.load(self.cluster, objects.items())
    self.assertEqual(done.returncode, 1, done.stderr)
    self.assertIn("heap full", done.stderr)
    self.assertIn("delete something", done.stderr)
    self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
    written, of = map(int, LOADED.search(done.stderr).groups())
    self.assertEqual(of, len(objects))

    # The heap holds what was acknowledged, no more and no less.
    found = self.objects_of(self.cluster)
    self.assertEqual(len(found), written)
    self.assertLessEqual(found.items(), objects.items())

    # The end of the load has closed its session, which has freed some room.
    fillers = {**self.fill_up("y", 2000), **self.fill_up("z", 100)}
    room = self.head_of(self.cluster)["heap_room"]
    self.assertTrue(room["full"], room)
    self.assertGreater(int(room["reserve_bytes"]), 0)
    self.assertGreaterEqual(int(room["free_bytes"]), int(room["reserve_bytes"]))
    self.assertRegex(self.kamino("status"),
                     r"\nheap of n\d: full, .* KiB free, .* KiB of it the "
                     r"reserve .*: delete something ")

    # A commit that deletes and puts, deletes alone, and then the load again,
    # which needs room for its session as well, beside the reserve.
    first, *others = sorted(found)
    self.kamino("commit", "then", "del", first, "put", "instead", "1")
    self.delete(others[:600])
    self.assertNotIn("full", self.kamino("status"))
    again = {key: VALUE for key in others[:100]}
    done = self.load(self.cluster, again.items())
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertEqual(self.objects_of(self.cluster), {
        "instead": "1", **again, **fillers,
        **{key: VALUE for key in others[600:]}})


class RestoreTest(FullHeapTest):
  start = {**NODES, "heap_mb": 16}
  SMALLER_MB = 8

  def other_cluster(self, name, heap_mb):
    cluster = LocalCluster(os.path.join(self.folder, name), self.programs())
    self.addCleanup(cluster.destroy)
    cluster.start(**scaled({**NODES, "heap_mb": heap_mb}))
    return cluster

  def fill(self, most):
    """Until the objects and the index take almost `most` bytes. Long keys in
    no order, so that the index is large and its pages are fuller than those
    that a restore makes of keys in order."""
    random = Random(1)
    step = 1000
    used = int(self.head_of(self.cluster)["heap_bytes_used"])
    objects = {}
    while True:
      more = {f"{random.getrandbits(64):016x}{'k' * 180}": "v"
              for _ in range(step)}
      done = self.load(self.cluster, more.items())
      self.assertEqual(done.returncode, 0, done.stderr)
      objects.update(more)
      before, used = used, int(self.head_of(self.cluster)["heap_bytes_used"])
      if used + 2 * (used - before) > most:
        return objects

  def test_fills_the_heap(self):
    smaller = self.other_cluster("smaller", self.SMALLER_MB)
    room = int(self.head_of(smaller)["heap_bytes_total"])
    objects = self.fill(room)
    self.assertLess(int(self.head_of(self.cluster)["heap_bytes_used"]), room)
    file = os.path.join(self.folder, "b.kmb")
    self.kamino("backup", "save", file)

    done = smaller.kamino("backup", "restore", file, check=False, timeout=120)
    self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
    for said in ("heap full", "--give_up", "a larger --heap_mb"):
      self.assertIn(said, done.stderr)
    self.assertIn("[restoring]",
                  smaller.kamino("get", "x", check=False).stderr)
    smaller.kamino("backup", "restore", "--give_up", timeout=120)
    self.assertFalse(self.head_of(smaller)["heap_room"]["full"])
    smaller.kamino("put", "x", "1")
    self.assertEqual(self.objects_of(smaller), {"x": "1"})
    smaller.kamino("del", "x")

    # The error suggests a larger heap.
    larger = self.other_cluster("larger", self.start["heap_mb"])
    larger.kamino("backup", "restore", file, timeout=120)
    self.assertEqual(self.objects_of(larger), objects)
    key = min(objects)
    larger.kamino("del", key)
    larger.kamino("put", key, "again")


if __name__ == "__main__":
  main()
