"""The checkers find planted violations, and nothing where nothing is wrong."""

import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
# pylint: disable=wrong-import-position
import checkers


class History:
  """A history by hand; time passes by one with each event."""

  def __init__(self):
    self.lines = []

  def call(self, process, op, **fields):
    self._add(process, "invoke", op=op, **fields)

  def end(self, process, kind="ok", **fields):
    self._add(process, kind, **fields)

  def did(self, process, op, result=None, **fields):
    """A call that ended before anything else happened."""
    self.call(process, op, **fields)
    self.end(process, **(result or {}))

  def _add(self, process, kind, **fields):
    self.lines.append(
        {"t": len(self.lines) + 1, "p": process, "e": kind, **fields})


class ListHistory:
  """History of transactions over lists: a micro-operation is ("append", key,
  element) or ("r", key, [elements])."""

  def __init__(self):
    self.lines = []

  def call(self, process, *parts):
    self._add(process, "invoke",
              [[f, k, None if f == "r" else v] for f, k, v in parts])

  def end(self, process, *parts, kind="ok"):
    self._add(process, kind, [list(p) for p in parts])

  def did(self, process, *parts):
    self.call(process, *parts)
    self.end(process, *parts)

  def _add(self, process, kind, value):
    self.lines.append({"time": len(self.lines) + 1, "process": process,
                       "type": kind, "value": value})


class CheckerTest(unittest.TestCase):

  def check(self, workload, history):
    with tempfile.TemporaryDirectory() as folder:
      path = os.path.join(folder, "history.jsonl")
      with open(path, "w", encoding="utf-8") as f:
        f.writelines(json.dumps(line) + "\n" for line in history.lines)
      return checkers.check(workload, path)

  def accept(self, workload, history):
    report = self.check(workload, history)
    self.assertEqual((report["valid"], report["violations"]), ("true", []))
    return report

  def reject(self, workload, history, text=""):
    report = self.check(workload, history)
    self.assertEqual(report["valid"], "false", report)
    self.assertIn(text, "\n".join(report["violations"]))

  def refuse(self, workload, history, text):
    with self.assertRaises(checkers.CheckError) as raised:
      self.check(workload, history)
    self.assertIn(text, str(raised.exception))


class RegistersTest(CheckerTest):

  def written(self, *values):
    history = History()
    for value in values:
      history.did(0, "put", key="r", value=value)
    return history

  def read(self, history, value, process=1):
    history.did(process, "get", {"value": value}, key="r")
    return history

  def test_a_valid_history(self):
    history = self.read(History(), None)
    history.did(0, "put", key="r", value="abcd")
    history.did(1, "patch", {"found": True}, key="r", offset=1, value="XY")
    self.read(history, "aXYd")
    history.did(2, "cas", {"done": True}, key="r", expect="aXYd", value="new")
    history.did(2, "cas", {"done": False}, key="r", expect="aXYd", value="no")
    self.read(history, "new")
    history.did(0, "delete", {"found": True}, key="r")
    history.did(0, "delete", {"found": False}, key="r")
    history.did(2, "cas", {"done": True}, key="r", expect=None, value="again")
    report = self.accept("registers", self.read(history, "again"))
    self.assertEqual(report["operations"], 11)

  def test_registers_are_independent(self):
    history = self.written("a")
    history.did(1, "get", {"value": None}, key="other")
    self.assertEqual(self.accept("registers", history)["partitions"], 2)

  def test_concurrent_writes_have_either_order(self):
    for last in ("a", "b"):
      history = History()
      history.call(0, "put", key="r", value="a")
      history.call(1, "put", key="r", value="b")
      history.end(1)
      history.end(0)
      self.accept("registers", self.read(history, last, process=2))

  def test_unknown_write_may_happen_late_or_never(self):
    for kind in ("unknown", None):  # None: the client never came back
      for later in ("a", "late"):
        history = self.written("a")
        history.call(5, "put", key="r", value="late")
        if kind:
          history.end(5, kind)
        self.read(history, "a")
        report = self.accept("registers", self.read(history, later))
        self.assertEqual(report["operations"], 4)

  def test_unknown_write_does_not_happen_twice(self):
    history = self.written("a")
    history.call(5, "put", key="r", value="late")
    history.end(5, "unknown")
    for value in ("late", "a"):
      self.read(history, value)
    self.reject("registers", history)

  def test_stale_read(self):
    self.reject("registers", self.read(self.written("old", "new"), "old"),
                "get -> ok old")

  def test_lost_write(self):
    self.reject("registers", self.read(self.written("a"), None))

  def test_failed_write_takes_effect(self):
    history = self.written("a")
    history.call(0, "put", key="r", value="failed")
    history.end(0, "fail")
    self.reject("registers", self.read(history, "failed"))

  def test_value_that_was_never_written(self):
    self.reject("registers", self.read(self.written("a"), "z"))

  def test_torn_patch(self):
    history = self.written("abcd")
    history.did(1, "patch", {"found": True}, key="r", offset=0, value="WXYZ")
    self.reject("registers", self.read(history, "WXcd"))

  def test_two_comparisons_with_one_value_succeed(self):
    history = self.written("a")
    for process in (1, 2):
      history.call(process, "cas", key="r", expect="a", value=f"by{process}")
    for process in (1, 2):
      history.end(process, done=True)
    self.reject("registers", history)

  def versioned(self, *versions):
    """Puts of a, b, c, ..., each told a version."""
    history = History()
    for value, version in zip("abcdefgh", versions):
      history.did(0, "put", {"version": version}, key="r", value=value)
    return history

  def seen(self, history, value, version, process=1):
    history.did(process, "get", {"value": value, "version": version}, key="r")
    return history

  def test_valid_versions(self):
    history = self.seen(self.versioned(2, 5), "b", 5)
    history.did(2, "cas", {"done": True, "version": 6}, key="r",
                expect_version=5, value="c")
    history.did(2, "cas", {"done": False}, key="r", expect_version=5, value="d")
    history.did(0, "patch", {"found": True, "version": 9}, key="r", offset=0,
                value="e")
    self.seen(history, "e", 9)
    history.did(0, "delete", {"found": True}, key="r")
    history.did(2, "cas", {"done": False}, key="r", expect_version=9, value="f")
    history.did(0, "put", {"version": 11}, key="r", value="g")
    self.accept("registers", self.seen(history, "g", 11))

  def test_a_read_shows_the_version_of_a_lost_answer(self):
    for version, right in ((3, True), (2, False), (1, False)):
      history = self.versioned(2)
      history.call(5, "put", key="r", value="late")
      history.end(5, "unknown")
      self.seen(history, "late", version)
      history.did(2, "cas", {"done": True, "version": 8}, key="r",
                  expect_version=version, value="c")
      if right:
        self.accept("registers", history)
      else:
        self.reject("registers", history)

  def test_two_writes_with_one_version(self):
    self.reject("registers", self.versioned(2, 2))
    history = History()
    for process in range(2):
      history.call(process, "put", key="r", value=f"by{process}")
    for process in range(2):
      history.end(process, version=7)
    self.reject("registers", history)

  def test_a_comparison_with_its_own_version_over_another_value(self):
    history = self.versioned(2, 3)
    history.did(0, "cas", {"done": True, "version": 4}, key="r",
                expect_version=2, value="lost update")
    self.reject("registers", history, "if version 2")

  def test_a_version_of_another_value(self):
    self.reject("registers", self.seen(self.versioned(2, 3), "b", 2))

  def test_decreasing_versions(self):
    self.reject("registers", self.versioned(5, 4))

  def test_two_deletes_of_one_object(self):
    history = self.written("a")
    for _ in range(2):
      history.did(1, "delete", {"found": True}, key="r")
    self.reject("registers", history)

  def test_malformed(self):
    history = History()
    history.call(0, "get", key="r")
    history.call(0, "get", key="r")
    self.refuse("registers", history, "before its last call has ended")
    history = History()
    history.end(0)
    self.refuse("registers", history, "that was not made")
    history = History()
    history.did(0, "put", key="r")
    self.refuse("registers", history, "without a value")

  def test_too_large(self):
    self.refuse("registers", self.written(*map(str, range(20001))),
                "more than 20000")


class BankTest(CheckerTest):

  def opened(self):
    history = History()
    history.did(0, "open", {"done": True}, bank="b", balances=[100, 100])
    return history

  def transfer(self, history, amount, result, process=1):
    history.did(process, "transfer", result, bank="b", amount=amount,
                **{"from": 0, "to": 1})
    return history

  def read(self, history, *balances, process=2):
    history.did(process, "read", {"balances": list(balances)}, bank="b")
    return history

  def test_a_valid_history(self):
    history = self.read(History())
    history.did(0, "open", {"done": True}, bank="b", balances=[100, 100])
    self.transfer(history, 30, {"done": True, "balances": [70, 130]})
    self.transfer(history, 80, {"done": False})
    history.did(1, "move", {"done": True, "balances": [100, 100]}, bank="b",
                amount=30, **{"from": 1, "to": 0})
    self.accept("bank", self.read(history, 100, 100))

  def test_a_bank_is_opened_once(self):
    history = self.opened()
    history.did(1, "open", {"done": False}, bank="b", balances=[100, 100])
    self.accept("bank", history)
    history.did(1, "open", {"done": True}, bank="b", balances=[100, 100])
    self.reject("bank", history)

  def test_unknown_transfer(self):
    for balances in ((100, 100), (70, 130)):
      history = self.opened()
      history.call(1, "transfer", bank="b", amount=30, **{"from": 0, "to": 1})
      history.end(1, "unknown")
      self.accept("bank", self.read(history, *balances))

  def test_half_a_transfer(self):
    history = self.opened()
    history.call(1, "transfer", bank="b", amount=30, **{"from": 0, "to": 1})
    self.read(history, 70, 100)
    history.end(1, done=True, balances=[70, 130])
    self.reject("bank", history)

  def test_lost_transfer(self):
    history = self.transfer(self.opened(), 30,
                            {"done": True, "balances": [70, 130]})
    self.reject("bank", self.read(history, 100, 100))

  def test_transfer_executed_twice(self):
    history = self.transfer(self.opened(), 30,
                            {"done": True, "balances": [70, 130]})
    self.reject("bank", self.read(history, 40, 160))

  def test_overdrawn(self):
    history = self.transfer(self.opened(), 130,
                            {"done": True, "balances": [-30, 230]})
    self.reject("bank", history)

  def test_declined_with_sufficient_balance(self):
    self.reject("bank", self.transfer(self.opened(), 30, {"done": False}))

  def test_declined_transfer_is_executed(self):
    history = self.transfer(self.opened(), 130, {"done": False})
    self.reject("bank", self.read(history, -30, 230))

  def test_lost_bank(self):
    self.reject("bank", self.read(self.opened()))


class ListsTest(CheckerTest):

  def test_a_valid_history(self):
    history = ListHistory()
    history.did(0, ("append", "x", 1), ("r", "y", []))
    history.did(1, ("r", "x", [1]), ("append", "y", 2), ("append", "x", 3))
    history.did(0, ("r", "x", [1, 3]), ("r", "y", [2]))
    self.assertEqual(self.accept("lists", history)["operations"], 3)

  def test_unknown_append(self):
    for later in ([1], [1, 2]):
      history = ListHistory()
      history.did(0, ("append", "x", 1))
      history.call(5, ("append", "x", 2))
      history.end(5, ("append", "x", 2), kind="info")
      history.did(0, ("r", "x", [1]))
      history.did(0, ("r", "x", later))
      self.accept("lists", history)

  def test_stale_read(self):
    history = ListHistory()
    history.did(0, ("append", "x", 1))
    history.did(0, ("append", "x", 2))
    history.did(1, ("r", "x", [1]))
    history.did(1, ("r", "x", [1, 2]))
    self.reject("lists", history, "realtime")

  def test_lost_append(self):
    history = ListHistory()
    history.did(0, ("append", "x", 1))
    history.did(0, ("append", "x", 2))
    history.did(1, ("append", "x", 3))
    history.did(1, ("r", "x", [1, 3]))
    self.reject("lists", history)

  def test_duplicated_append(self):
    history = ListHistory()
    history.did(0, ("append", "x", 1))
    history.did(1, ("r", "x", [1, 1]))
    self.reject("lists", history, "duplicate")

  def test_failed_append_is_read(self):
    history = ListHistory()
    history.did(0, ("append", "x", 1))
    history.call(0, ("append", "x", 2))
    history.end(0, ("append", "x", 2), kind="fail")
    history.did(1, ("r", "x", [1, 2]))
    self.reject("lists", history, "G1a")

  def test_reads_disagree_on_the_order(self):
    history = ListHistory()
    history.did(0, ("append", "x", 1))
    history.did(1, ("append", "x", 2))
    history.did(0, ("r", "x", [1, 2]))
    history.did(1, ("r", "x", [2, 1]))
    self.reject("lists", history, "incompatible-order")

  def test_write_skew(self):
    """Two transactions that each did not see the other: a cycle."""
    first = (("r", "x", []), ("append", "y", 1))
    second = (("r", "y", []), ("append", "x", 2))
    history = ListHistory()
    history.call(0, *first)
    history.call(1, *second)
    history.end(0, *first)
    history.end(1, *second)
    history.did(0, ("r", "x", [2]), ("r", "y", [1]))
    self.reject("lists", history, "G2-item")

  def test_half_a_transaction(self):
    history = ListHistory()
    history.call(0, ("append", "x", 1), ("append", "y", 2))
    history.did(1, ("r", "x", [1]), ("r", "y", []))
    history.end(0, ("append", "x", 1), ("append", "y", 2))
    history.did(1, ("r", "x", [1]), ("r", "y", [2]))
    self.reject("lists", history, "G-single")

  def test_an_inconclusive_history(self):
    history = ListHistory()
    history.call(0, ("r", "x", []))
    history.end(0, ("r", "x", []), kind="fail")
    self.assertEqual(self.check("lists", history)["valid"], "unknown")

  def test_malformed(self):
    history = ListHistory()
    history.lines.append({"type": "what", "process": 0, "value": []})
    self.refuse("lists", history, "bad op type")


if __name__ == "__main__":
  unittest.main(verbosity=2)
