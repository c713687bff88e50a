"""Faults have their effects, and a missing effect is noticed."""

import os
import random
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)),
                                "..", "..", "deploy", "local"))
# pylint: disable=wrong-import-position
import held_thread
import media
from held_thread import HeldThread, ThreadError, cannot_hold
from network import Network, NetworkError, cannot_cut
from operator_acts import DAMAGED, OLD_COPY, Operator
from processes import ClusterError, wait_until
from wall_clock import WallClock, cannot_step

# Two threads that count, each into a line of its own.
COUNTS = """
import os, threading, time
def count(name):
  n = 0
  while True:
    n += 1
    os.write(1, b"%s %d\\n" % (name.encode(), n))
    time.sleep(0.001)
threading.Thread(target=count, args=("other",), daemon=True).start()
count("main")
"""


class HeldThreadTest(unittest.TestCase):

  def setUp(self):
    why = cannot_hold()
    if why:
      print(f"NOT RUN: {self.id()}: {why}", flush=True)
      self.skipTest(why)
    self.process = subprocess.Popen([sys.executable, "-c", COUNTS],
                                    stdout=subprocess.PIPE, text=True)
    self.addCleanup(self.process.stdout.close)
    self.addCleanup(self.process.wait)
    self.addCleanup(self.process.kill)
    self.counts = {"main": 0, "other": 0}
    threading.Thread(target=self.read, daemon=True).start()
    self.await_count("main", 5)
    self.await_count("other", 5)

  def read(self):
    for line in self.process.stdout:
      name, count = line.split()
      self.counts[name] = int(count)

  def await_count(self, name, count):
    wait_until(lambda: self.counts[name] >= count, 20, f"{name} to count")

  def test_a_held_thread_stops_and_the_other_continues(self):
    pid = self.process.pid
    other = next(t for t in held_thread.threads(pid) if t != pid)
    held = HeldThread(pid, other)
    self.await_count("main", self.counts["main"] + 50)
    before = self.counts["other"]  # all that it wrote was read meanwhile
    self.await_count("main", self.counts["main"] + 50)
    self.assertEqual(self.counts["other"], before)
    held.let_go()
    self.await_count("other", before + 5)

  def test_a_held_thread_that_runs_is_detected(self):
    held = HeldThread(self.process.pid, self.process.pid)
    state, ticks = held_thread.state(self.process.pid, self.process.pid)
    with mock.patch("held_thread.state", return_value=(state, ticks + 1)):
      with self.assertRaisesRegex(ThreadError, "was held and ran"):
        held.let_go()

  def test_an_ended_thread_has_no_state(self):
    pid = self.process.pid
    known = held_thread.threads(pid)
    ended = 1 << 22  # no thread has this id
    with mock.patch("held_thread.threads",
                    return_value={**known, ended: "ended"}):
      self.assertEqual(len(held_thread.states(pid)), len(known))

  def test_an_unknown_thread_is_an_error(self):
    with self.assertRaisesRegex(ThreadError, "No such process"):
      HeldThread(self.process.pid, 1 << 22)


class NetworkEffectTest(unittest.TestCase):

  def setUp(self):
    why = cannot_cut()
    if why:
      print(f"NOT RUN: {self.id()}: {why}", flush=True)
      self.skipTest(why)
    self.network = Network(["a", "b", "c"])
    self.addCleanup(self.network.destroy)
    self.network.create()

  def test_a_cut_without_effect_is_detected(self):
    with mock.patch.object(self.network, "apply"):
      with self.assertRaisesRegex(NetworkError,
                                  "a was to hear c hub, and hears b c hub"):
        self.network.cut(["b"], ["a"])

  def test_an_unhealed_cut_is_detected(self):
    cut = self.network.cut(["b"], ["a"])
    with mock.patch.object(self.network, "apply"), mock.patch(
        "network.ARRIVES_S", 0.2):
      with self.assertRaisesRegex(NetworkError, "hears c hub"):
        self.network.heal(cut)

  def test_cuts_heal_one_by_one(self):
    one = self.network.cut(["b", "c"], ["a"])
    other = self.network.cut(["b"], ["a", "c"])
    self.network.heal(one)
    self.assertEqual(self.network.heard("a", ["b", "c"]), {"c"})
    self.assertEqual(self.network.heard("c", ["a", "b"]), {"a"})
    self.assertEqual(self.network.heard("b", ["a", "c"]), {"a", "c"})
    self.network.heal(other)
    self.network.check()


class WallClockTest(unittest.TestCase):

  def setUp(self):
    why = cannot_step()
    self.assertEqual(why, "")
    self.folder = tempfile.TemporaryDirectory()
    self.addCleanup(self.folder.cleanup)
    self.clock = WallClock(os.path.join(self.folder.name, "clock"))

  def process(self, command):
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    self.addCleanup(process.stdout.close)
    self.addCleanup(process.wait)
    self.addCleanup(process.kill)
    process.stdout.readline()
    return process.pid

  TELLS = [sys.executable, "-c",
           "import time; print(time.time(), flush=True); time.sleep(600)"]

  def test_a_process_follows_the_clock(self):
    pid = self.process(self.clock.command(self.TELLS))
    self.clock.step(-3600, pid)
    self.clock.step(0, pid)

  def test_a_process_with_another_clock_is_detected(self):
    with self.assertRaisesRegex(ClusterError, "does not go by"):
      self.clock.step(60, self.process(self.TELLS))


class MediaTest(unittest.TestCase):

  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.folder = folder.name
    self.dice = random.Random(1)

  def write(self, file, content):
    with open(os.path.join(self.folder, file), "wb") as f:
      f.write(content)

  def write_ring(self):
    """One that has wrapped: mutations 6, then 7 and 8; 5 is cleaned."""
    ring = bytearray(8192)
    struct.pack_into("<QIIQ", ring, 0, 0x474e49526f6d614b, 9, 3, 8192)
    struct.pack_into("<QQ", ring, 64, 2, 6)
    struct.pack_into("<QQ", ring, 128, 4, 5)
    struct.pack_into("<QQ", ring, 192, 5, 7936)
    struct.pack_into("<QQ", ring, 256, 4, 4096)
    def entry(at, first, count, length):
      struct.pack_into("<IIQII", ring, at, media.SLOT_MAGIC, 3, first, length,
                       0)
      struct.pack_into("<I", ring, at + 32 + 20, count)
    entry(7936, 6, 1, 150)
    struct.pack_into("<IIQII", ring, 8128, media.WRAP_MAGIC, 3, 7, 0, 0)
    entry(4096, 7, 2, 200)
    entry(4352, 5, 1, 200)  # of the time before
    self.write(media.RING, ring)

  def test_entries_are_the_kept_ones(self):
    self.write_ring()
    self.assertEqual(media.applied(self.folder), 6)
    self.assertEqual(media.entries(self.folder),
                     [media.Place(media.RING, 7936, 182),
                      media.Place(media.RING, 4096, 232)])
    self.assertIn(media.ring_entry(self.folder, self.dice)[0].offset,
                  (7936, 4096))
    for _ in range(8):
      self.assertIn(media.ring_mark(self.folder, self.dice)[0].offset,
                    (64, 192))

  def write_record(self, serials):
    """The page of a ring that has both copies of two versions."""
    ring = bytearray(4096)
    for copy in (1024, 2048):
      for version, serial in enumerate(serials):
        # Behind it, where a line of half the length would begin, a larger one.
        struct.pack_into("<Q56xQ", ring, copy + version * 192, serial, 99)
    self.write(media.RING, ring)

  def test_a_record_is_its_newer_version(self):
    for serials, line in (((7, 8), 192), ((9, 8), 0)):
      self.write_record(serials)
      both = media.record(self.folder, self.dice)
      self.assertEqual(both, [media.Place(media.RING, 1024 + line, 192),
                              media.Place(media.RING, 2048 + line, 192)])
      for _ in range(8):
        self.assertIn(media.record_copy(self.folder, self.dice)[0], both)

  def test_a_ring_without_needed_entries(self):
    self.write_ring()
    with open(os.path.join(self.folder, media.RING), "r+b") as f:
      f.seek(7936)
      f.write(b"\0")
    with self.assertRaises(media.NotThere):
      media.ring_entry(self.folder, self.dice)

  def test_one_bit_is_flipped(self):
    self.write(media.HEAP, bytes(4096))
    place = media.superblock(self.folder, self.dice)[0]
    said = media.flip(self.folder, place, self.dice)
    with open(os.path.join(self.folder, media.HEAP), "rb") as f:
      content = f.read()
    self.assertEqual(sum(bin(byte).count("1") for byte in content), 1)
    self.assertLess(next(i for i, byte in enumerate(content) if byte), 216)
    self.assertIn("heap.pmem", said)

  def test_a_flip_without_effect_is_detected(self):
    self.write(media.HEAP, bytes(4096))
    with mock.patch("media._read", return_value=b"\0"):
      with self.assertRaisesRegex(OSError, "no bit has changed"):
        media.flip(self.folder, media.Place(media.HEAP, 0, 1), self.dice)

  def test_blocks(self):
    heap = bytearray(8192)
    struct.pack_into("<QQ", heap, 184, 4160, 192)
    struct.pack_into("<Q", heap, 4144, 0x4b6f << 48 | 2 << 40 | 1)
    struct.pack_into("<Q", heap, 4208, 0x4b6f << 48 | 1 << 40 | 2)
    self.write(media.HEAP, heap)
    self.assertEqual(list(media.blocks(self.folder)),
                     [(media.Place(media.HEAP, 4144, 8), 48, True),
                      (media.Place(media.HEAP, 4208, 8), 112, False)])
    with self.assertRaisesRegex(media.NotThere, "no object is large"):
      media.object_bytes(self.folder, self.dice)

  def test_copies_are_compared(self):
    self.write("a", b"some")
    self.write("b", b"some")
    self.write("c", b"sume")
    path = lambda name: os.path.join(self.folder, name)
    self.assertTrue(media.same(path("a"), path("b")))
    self.assertFalse(media.same(path("a"), path("c")))


class FakeCluster:
  """One node, n1, that has ended with some last words."""
  managers = []

  def __init__(self, words):
    self.words = words
    self.ended = ["n1"]
    self.done = []

  def unexpected_ends(self):
    return list(self.ended)

  def last_words(self, name):
    return self.words

  def crash(self, name):
    self.done.append(f"crash {name}")

  def lose_data(self, name):
    self.done.append(f"lose_data {name}")

  def revive(self, name):
    self.done.append(f"revive {name}")
    self.ended.remove(name)


class OperatorTest(unittest.TestCase):

  def test_a_node_that_ended_as_expected_joins_again(self):
    cluster = FakeCluster("node n1 is on an old copy of its data: ...")
    operator = Operator(cluster)
    operator.expect({"n1": OLD_COPY})
    self.assertEqual(operator.attend(), [])
    self.assertEqual(cluster.done, ["crash n1", "lose_data n1", "revive n1"])
    self.assertEqual(len(operator.acts), 1)

  def test_a_node_that_ended_unexpectedly_is_reported(self):
    cluster = FakeCluster("node n1 is on an old copy of its data: ...")
    operator = Operator(cluster)
    self.assertEqual(operator.attend(), ["n1"])
    operator.expect({"n1": DAMAGED})
    self.assertEqual(operator.attend(), ["n1"])
    operator.expect({"n1": OLD_COPY})
    operator.forget()
    self.assertEqual(operator.attend(), ["n1"])
    self.assertEqual(cluster.done, [])


if __name__ == "__main__":
  unittest.main(verbosity=2)
