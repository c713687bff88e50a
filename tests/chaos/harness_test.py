"""The parts of the chaos harness that need no cluster."""

import argparse
import errno
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
# pylint: disable=wrong-import-position
import chaos
import faults
from acknowledged import AckWatch, longest_gap
from chaos_cluster import fill_up
from chaos_round import (Injected, Round, Verdict, check_histories,
                         differences)
from network import HUB, Network, NetworkError, check_possible, cut_ruleset
from fault import LOSABLE, Fault, nothing
from operator_acts import CHANGED, OLD_COPY, Operator
from processes import ClusterError, patience
from schedule import PER_ROUND, Part, Schedule, Step, fits
from stage import NoVictim, Stage


class FullDiskTest(unittest.TestCase):

  def fill(self, free, allocate):
    with tempfile.TemporaryDirectory() as folder, \
         mock.patch("shutil.disk_usage",
                    side_effect=[mock.Mock(free=f) for f in free]), \
         mock.patch("os.posix_fallocate", side_effect=allocate) as calls:
      full = fill_up(os.path.join(folder, "ballast"))
    return full, [call.args[1:] for call in calls.call_args_list]

  def test_the_disk_fills_despite_other_writers(self):
    nothing_left = OSError(errno.ENOSPC, "no space")
    self.assertEqual(
        self.fill([100, 60, 0], [nothing_left, None, nothing_left]),
        (True, [(0, 100), (0, 60), (60, 1)]))

  def test_a_disk_that_does_not_fill_up(self):
    full, calls = self.fill([1] * 100, [None] * 100)
    self.assertFalse(full)
    self.assertEqual(calls[-1], (99, 1))

  def test_another_error_is_raised(self):
    with self.assertRaises(OSError):
      self.fill([100], [OSError(errno.EIO, "broken")])


class GapTest(unittest.TestCase):

  def test_longest_gap(self):
    acks = [1.0, 1.5, 4.0, 4.5, 4.0]
    self.assertEqual(longest_gap(acks, 0, 10), (2.5, 1.5))
    self.assertEqual(longest_gap(acks, 2, 3), (2.5, 1.5))
    self.assertEqual(longest_gap(acks, 4.1, 10), (0.5, 4.0))
    self.assertEqual(longest_gap([], 3, 10), (0.0, 3))

  def test_only_acknowledged_writes_count(self):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as f:
      watch = AckWatch(f.name)
      def write(**event):
        f.write(json.dumps(event) + "\n")
      write(t=1, p=0, e="invoke", op="get")
      write(t=2, p=0, e="ok")
      write(t=3 * 10**9, p=0, e="invoke", op="put")
      write(t=4, p=1, e="invoke", op="put")
      write(t=5, p=1, e="unknown")
      f.write('{"t": 6000000000, "p": 0, ')
      f.flush()
      watch.poll()
      self.assertEqual(watch.acks, [])
      f.write('"e": "ok"}\n')
      write(time=7 * 10**9, process=2, type="invoke", value=[["r", "x", None]])
      write(time=8 * 10**9, process=2, type="ok", value=[["r", "x", []]])
      write(time=9 * 10**9, process=2, type="invoke",
            value=[["r", "x", None], ["append", "x", 1]])
      write(time=10 * 10**9, process=2, type="ok",
            value=[["r", "x", []], ["append", "x", 1]])
      write(time=11 * 10**9, process=2, type="invoke", value=[])
      write(time=12 * 10**9, process=2, type="info", value=[])
      f.flush()
      watch.poll()
      self.assertEqual(watch.acks, [6.0, 10.0])
      self.assertEqual(watch.reads, [2e-9, 8.0])
      self.assertEqual(watch.counts, {"ok": 4, "fail": 0, "unknown": 2})


class ScheduleTest(unittest.TestCase):

  def test_a_seed_determines_the_schedule(self):
    def names(seed):
      schedule = Schedule(seed)
      return [str(s) for _ in range(3) for s in schedule.next_round()]
    self.assertEqual(names(7), names(7))
    self.assertNotEqual(names(7), names(8))

  def test_every_kind_is_scheduled(self):
    schedule = Schedule(1)
    seen = set()
    for _ in range(8):
      steps = schedule.next_round()
      self.assertTrue(0 < len(steps) <= PER_ROUND)
      for part in (p for s in steps for p in s.parts):
        seen.add(part.fault.name)
        low, high = part.fault.lasts
        self.assertTrue(low <= part.lasts <= high)
    self.assertEqual(seen, {f.name for f in faults.FAULTS})

  def test_combined_faults_are_within_the_budget(self):
    schedule, together = Schedule(1), 0
    for _ in range(40):
      for step in schedule.next_round():
        if len(step.parts) > 1:
          together += 1
          self.assertLessEqual(step.costs, LOSABLE)
          self.assertFalse(any(p.fault.alone for p in step.parts))
          self.assertEqual(len({p.fault.name for p in step.parts}),
                           len(step.parts))
    self.assertGreater(together, 40)

  def test_fits_respects_costs_and_lone_faults(self):
    def fault(name, costs=1, alone=False):
      return Fault(name, nothing, nothing, (1, 2), costs, alone=alone)
    self.assertTrue(fits([], fault("a", 2, alone=True)))
    self.assertTrue(fits([fault("a")], fault("b")))
    self.assertFalse(fits([fault("a")], fault("a")))
    self.assertFalse(fits([fault("a")], fault("b", 2)))
    self.assertFalse(fits([fault("a", 0)], fault("b", 0, alone=True)))
    self.assertFalse(fits([fault("a", 0, alone=True)], fault("b", 0)))

  def test_a_short_round_has_one_of_each_family(self):
    for seed in range(20):
      steps = Schedule(seed).next_round()[:len(faults.FAMILIES)]
      kinds = {p.fault for s in steps for p in s.parts}
      for family in faults.FAMILIES:
        self.assertTrue(kinds & set(family), f"seed {seed}")

  def test_faults_are_chosen_by_name(self):
    self.assertEqual(chaos.chosen_faults(None), faults.FAULTS)
    self.assertEqual([f.name for f in chaos.chosen_faults(
        "old copy of node late,power cut")],
                     ["power cut", "old copy of node, late"])
    with self.assertRaisesRegex(chaos.ClusterError, "no such fault: nothing"):
      chaos.chosen_faults("power cut,nothing")


class ReportTest(unittest.TestCase):

  def test_table_and_summary(self):
    verdict = Verdict(
        injected=[Injected("a", survived=True, gap_s=1.0, read_gap_s=0.5),
                  Injected("a", survived=False, gap_s=2.0),
                  Injected("a", survived=True, gap_s=9.0, company="a + b"),
                  Injected("b", skipped="nobody there")],
        problems=["lost"], longest_gap_s=2.0,
        reports={"bank": {"operations": 5, "unknown": 1}})
    rows = chaos.rows_of([verdict], {"c": "no ptrace"})
    self.assertEqual(
        [line.split() for line in chaos.table(rows)[1:]],
        [["a", "3", "2", "0", "2.00", "s", "0.50", "s", "9.00", "0.00", "s"],
         ["b", "0", "0", "1", "0.00", "s", "0.00", "s", "0.00", "0.00", "s"],
         ["c", "not", "run:", "no", "ptrace"]])
    self.assertEqual(
        chaos.summary([verdict], 9, {"c": "no ptrace"}, "images"),
        "chaos: mode images, seed 9, 1 rounds, 3 faults, 2 survived, 1 kinds "
        "not run; 5 operations checked (1 of unknown outcome), longest "
        "unavailability 2.00 s; 1 violations")

  def test_a_kind_that_is_skipped_in_all_its_turns_is_a_failure(self):
    said = []
    arguments = argparse.Namespace(json=None, keep=True, mode="kamino")
    def concluded(*injected):
      said.clear()
      with mock.patch.object(chaos, "say", said.append):
        return chaos.conclude(arguments, [Verdict(injected=list(injected))],
                              1, "out", {})
    came = Injected("a", survived=True)
    skipped = Injected("a", skipped="nobody there")
    alone = Injected("a", skipped="still nobody", again=True)
    self.assertEqual(concluded(came, skipped, alone), 0)
    # It has had no turn by itself yet.
    self.assertEqual(concluded(skipped), 0)
    self.assertEqual(concluded(skipped, alone), 1)
    self.assertIn("VIOLATION: a was skipped in all its turns: still nobody",
                  said)
    self.assertTrue(said[-1].endswith("; 1 violations"), said[-1])

  def test_a_skipped_fault_gets_a_turn_by_itself(self):
    def fault(name):
      return Fault(name, nothing, nothing, (1, 2))
    parts = [Part(fault(name), 1.0, 1, 1) for name in ("a", "b", "c")]
    steps = [Step(tuple(parts), 1, False), Step((parts[0],), 1, False)]
    judged = Round.__new__(Round)
    judged.verdict = Verdict(injected=[
        Injected("a", skipped="x"), Injected("b"), Injected("c", skipped="x"),
        Injected("a")])
    turns = []
    judged._await_whole = turns.append
    judged._step = lambda step, again: turns.append((step.name, again))
    judged._second_turns(steps, time.monotonic() + 60)
    self.assertEqual(turns, ["before c", ("c", True)])
    turns.clear()
    judged._second_turns(steps, time.monotonic() - 1)  # there is no time
    self.assertEqual(turns, [])

  def test_unavailable_kinds_are_not_run(self):
    kinds = [Fault("a", nothing, nothing, (1, 2), missing=lambda: "no nft"),
             Fault("b", nothing, nothing, (1, 2), missing=lambda: ""),
             Fault("c", nothing, nothing, (1, 2))]
    self.assertEqual(faults.not_here(kinds), {"a": "no nft"})

  def test_differences(self):
    self.assertEqual(differences("a\t1\nb\t2\n", "a\t1\nb\t3\nc\t4\n"),
                     "2, such as b c")

  def test_kept_histories_are_judged(self):
    put = [{"t": 1, "p": 0, "e": "invoke", "op": "put", "key": "r",
            "value": "a"}, {"t": 2, "p": 0, "e": "ok"}]
    read = [{"t": 3, "p": 1, "e": "invoke", "op": "get", "key": "r"},
            {"t": 4, "p": 1, "e": "ok", "value": "a"}]
    bank = [{"t": 1, "p": 0, "e": "invoke", "op": "read", "bank": "b"},
            {"t": 2, "p": 0, "e": "ok", "balances": []}]
    lists = [
        {"time": 1, "process": 0, "type": "invoke",
         "value": [["append", "x", 1]]},
        {"time": 2, "process": 0, "type": "ok",
         "value": [["append", "x", 1]]},
        {"time": 2, "process": 1, "type": "invoke",
         "value": [["r", "x", None]]},
        {"time": 3, "process": 1, "type": "ok", "value": [["r", "x", [1]]]}]
    with tempfile.TemporaryDirectory() as folder:
      def write(name, events):
        """Each client has every other process's events."""
        for i, side in enumerate(("east", "west")):
          path = os.path.join(folder, f"{name}-{side}.jsonl")
          with open(path, "w", encoding="utf-8") as f:
            f.writelines(json.dumps(e) + "\n" for e in events
                         if e.get("p", e.get("process")) % 2 == i)
      write("registers", put + read)
      write("bank", bank)
      write("lists", lists)
      self.assertEqual(check_histories(folder)[1], [])
      read[1]["value"] = None  # the acknowledged write is not there
      write("registers", put + read)
      self.assertEqual(len(check_histories(folder)[1]), 1)
      write("registers", [])
      self.assertEqual(check_histories(folder)[1],
                       ["registers: nothing was done"])
      os.remove(os.path.join(folder, "bank-east.jsonl"))
      self.assertIn("bank-east.jsonl", check_histories(folder)[1][-1])


class NetworkTest(unittest.TestCase):

  def setUp(self):
    self.network = Network(["a", "b", "c"])  # fails without root, and says so
    self.addCleanup(self.network.destroy)
    self.network.create()

  def hears(self, receiver, source):
    """Whether a datagram gets through: one way is all it takes.

    The receiver's own datagram, sent after it, ends the wait.
    """
    listen = ("import socket, sys; s = socket.socket(socket.AF_INET, "
              "socket.SOCK_DGRAM); s.bind(('0.0.0.0', 9)); "
              "s.settimeout(float(sys.argv[1])); print('ready', flush=True); "
              "print(s.recv(9).decode())")
    send = ("import socket, sys; s = socket.socket(socket.AF_INET, "
            "socket.SOCK_DGRAM); s.sendto(sys.argv[2].encode(), "
            "(sys.argv[1], 9))")
    host = self.network.host(receiver)
    with subprocess.Popen(
        self.network.command(receiver, [sys.executable, "-c", listen,
                                        str(patience(20))]),
        stdout=subprocess.PIPE, text=True) as listener:
      listener.stdout.readline()
      for party in (source, receiver):
        subprocess.run(self.network.command(
            party, [sys.executable, "-c", send, host, party]), check=True)
      heard = listener.stdout.readline().strip()
    self.assertIn(heard, (source, receiver))
    return heard == source

  def test_cuts(self):
    self.assertTrue(self.hears("a", "b"))
    self.assertTrue(self.hears("b", "a"))
    self.network.cut(["b"], ["a"])
    self.assertFalse(self.hears("a", "b"))
    self.assertTrue(self.hears("b", "a"))
    self.assertTrue(self.hears("a", "c"))
    self.network.cut_both_ways(["a"], ["c"])
    self.assertFalse(self.hears("a", "c"))
    self.assertFalse(self.hears("c", "a"))
    self.assertFalse(self.hears("a", "b"))
    self.network.heal()
    for receiver, source in (("a", "b"), ("a", "c"), ("c", "a")):
      self.assertTrue(self.hears(receiver, source))

  def test_the_machine_itself_is_not_touched(self):
    """Its name for a party is none, and nothing of it is left."""
    space = self.network.namespace(HUB)
    def listed():
      return subprocess.run(["ip", "netns"], stdout=subprocess.PIPE,
                            text=True, check=True).stdout
    self.assertIn(space, listed())
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
      with self.assertRaises(OSError):
        s.bind((self.network.host("a"), 0))  # no address of this machine
    self.network.destroy()
    self.assertNotIn(space, listed())


class EndedCluster:
  """A cluster whose nodes end, with last words."""

  def __init__(self):
    self.ended = {}  # name to last words
    self.emptied = []
    self.revived = []
    self.resumed = []
    self.network = None

  def unexpected_ends(self):
    return list(self.ended)

  def last_words(self, name):
    return self.ended[name]

  def crash(self, name):
    del self.ended[name]

  def lose_data(self, name):
    self.emptied.append(name)

  def revive(self, name):
    self.revived.append(name)

  def resume(self, name):
    self.resumed.append(name)


class VictimThatEndedTest(unittest.TestCase):
  """An earlier fault damaged the files of n1, so n1 ends later."""

  def setUp(self):
    self.cluster = EndedCluster()
    self.cluster.operator = Operator(self.cluster)
    self.cluster.operator.expect({"n1": CHANGED})
    self.round = Round.__new__(Round)
    self.round.cluster = self.cluster
    self.round.operator = self.cluster.operator
    self.stage = Stage(self.cluster, [], random.Random(1))

  def inject(self, inject):
    fault = Fault("pause", inject, nothing, (1, 2))
    injected = Injected("pause")
    self.round._inject(self.stage, Part(fault, 1.0, 1, 1), injected,
                       alone=False)
    return injected

  def test_a_fault_waits_for_its_restart(self):
    self.cluster.ended = {"n1": f"n1: {CHANGED[0]}"}
    with self.assertRaisesRegex(NoVictim, "operator has yet to restart n1"):
      self.stage.hit("n1")
    self.assertEqual("n2", self.stage.hit("n2"))
    self.round.operator.attend()
    self.assertEqual("n1", self.stage.hit("n1"))

  def pause_both(self, ends):
    """n1 ends between the choice of the victims and their pause."""
    def inject(stage):
      stage.hit("n2", "n1")
      self.cluster.ended = {"n1": f"n1: {ends}"}
      raise ClusterError("n1 does not run")
    return inject

  def test_a_fault_is_withdrawn_if_its_victim_ends_as_expected(self):
    injected = self.inject(self.pause_both(CHANGED[0]))
    self.assertEqual("n1 does not run", injected.skipped)
    self.assertEqual(["n2"], self.cluster.revived)
    self.assertEqual(["n2"], self.cluster.resumed)
    self.assertEqual([], self.round.operator.attend())
    self.assertEqual(["n2", "n1"], self.cluster.revived)

  def test_another_end_of_its_victim_is_a_problem(self):
    with self.assertRaisesRegex(ClusterError, "n1 does not run"):
      self.inject(self.pause_both("Check failed"))
    self.assertEqual(["n1"], self.round.operator.attend())
    self.assertEqual([], self.cluster.revived)


class OperatorTest(unittest.TestCase):

  def test_changed_bits_may_be_found_later_and_once(self):
    cluster = EndedCluster()
    operator = Operator(cluster)
    operator.expect({"n1": OLD_COPY + CHANGED})
    operator.forget()
    cluster.ended = {"n1": f"n1: {OLD_COPY[0]}"}
    self.assertEqual(["n1"], operator.attend())
    cluster.ended = {"n1": f"n1: {CHANGED[0]}", "n2": f"n2: {CHANGED[0]}"}
    self.assertEqual(["n2"], operator.attend())
    self.assertEqual(["n1"], cluster.emptied)
    cluster.ended = {"n1": f"n1: {CHANGED[0]}"}
    self.assertEqual(["n1"], operator.attend())


class ImpossibleTest(unittest.TestCase):

  def test_root_is_required(self):
    with mock.patch("os.geteuid", return_value=1000):
      with self.assertRaisesRegex(NetworkError, "need root"):
        check_possible()

  def test_a_missing_program_is_named(self):
    with mock.patch("os.geteuid", return_value=0), mock.patch(
        "shutil.which", return_value=None):
      with self.assertRaisesRegex(NetworkError, "ip is missing"):
        check_possible()

  def test_rules_drop_the_listed_addresses(self):
    self.assertIn("{ 10.77.0.1, 10.77.0.2 } drop",
                  cut_ruleset({"10.77.0.2", "10.77.0.1"}))
    self.assertNotIn("drop", cut_ruleset(set()))


if __name__ == "__main__":
  unittest.main(verbosity=2)
