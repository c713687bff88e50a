"""bench/report: tables, the pages of benches of few words, and the program."""

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.join("bench", "report", "report.py")
sys.path.insert(0, os.path.dirname(PROGRAM))
# pylint: disable=wrong-import-position
import page
import report
import results as form
import tables
import views


def stop(role, what, rounds, target=None):
  return {"name": f"stop {role}: without a {what} for", "unit": "ms",
          "rounds": rounds, "median": sorted(rounds)[len(rounds) // 2],
          "target": target, "note": ""}


FAILOVER = {
    "bench": "failover", "facts": {}, "settings": {"rounds": 3, "only": None},
    "measurements": [
        {"name": "kill head to next write", "unit": "ms", "target": 250,
         "rounds": [210.0, 230.0, 220.0], "median": 220.0, "note": "why"},
        stop("head", "write", [30.0, 10.0, 20.0], 50),
        stop("head", "read", [5.0])]}
TARGETS = [{"what": "tcp / bare", "wanted": 1.3, "measured": 1.25, "met": True}]
TRANSPORT = {
    "bench": "transport", "facts": {"scale": "quick"},
    "measurements": [
        {"link": link, "bytes": size, "round_trip_p50_ns": 9000.0,
         "round_trip_p99_ns": 12000.0, "one_way_p50_ns": None,
         "one_way_p99_ns": None, "messages_per_s": None, "spread": 0.1,
         "round_trip_to_bare_epoll": 1.25}
        for size in (64, 4096) for link in ("tcp", "shm")],
    "idle": [{"link": "tcp", "cpu_fraction": 0.002}], "targets": TARGETS}
CONNECTIONS = {
    "bench": "connections", "facts": {}, "targets": TARGETS,
    "measurements": [{"measure": "sessions", "opened": 1000, "refused": None,
                      "puts_ratio": 0.97, "puts_ratios": [0.96, 0.98],
                      "gets_ratio": 1.0, "gets_ratios": [1.0, 1.0]}]}
CONTROLLER = {"bench": "controller", "facts": {"scale": "full"}, "figures": [
    {"figure": "5", "title": "Fig. 5", "tables": [
        {"title": "us", "columns": ["stores", "wrap", "undo"],
         "rows": [["1", 1.5, 1234.5], ["2", 2, 3]]},
        {"title": "counts", "columns": ["", "lines"], "rows": [["wrap", 600]]},
        {"title": "text", "columns": ["", "a"], "rows": [["one", "two"]]}],
     "marks": [{"name": "steps", "paper": "4", "here": "5", "holds": False}]}]}


def titled(made):
  return {table.title: table.table for table in made.tables()}


class TablesTest(unittest.TestCase):

  def test_numbers(self):
    for value, text in ((None, "-"), (0, "0"), (1234.5, "1,234"),
                        (3.14159, "3.14"), (0.012345, "0.0123")):
      self.assertEqual(tables.number(value), text)

  def test_rows(self):
    rows = [{"name": "a", "x": 1.5}, {"name": "a"}, {"name": "b", "x": 2}]
    self.assertEqual(
        tables.of_rows(rows, (("", "name"), ("x", "x"),
                              ("n", lambda r: str(len(r)))), 1),
        (["", "x", "n"], [["a", "1.50", "2"], ["", "-", "1"],
                          ["b", "2.00", "2"]]))
    self.assertEqual(tables.of_fields([*rows, {"y": [1], "z": 1000}]), (
        ["name", "x", "z"],
        [["a", "1.50", "-"], ["a", "-", "-"], ["b", "2", "-"],
         ["-", "-", "1,000"]]))

  def test_long_cells_continue_below(self):
    text = tables.as_text((["", "a head of many words"], [["x", "1"]]))
    self.assertEqual(text, "   a head of many\n   words\nx  1")


class ViewsTest(unittest.TestCase):

  def test_failover(self):
    made = views.failover(FAILOVER)
    self.assertEqual(titled(made)["Figures"][1][0], [
        "kill head to next write", "220", "210 to 230", "250", "ms", "why"])
    [plot] = made.plots()
    self.assertEqual((plot.name, plot.target), ("stops", 50))
    self.assertEqual(plot.series, {"stop head, writes": [30.0, 10.0, 20.0],
                                   "stop head, reads": [5.0]})
    kills = {**FAILOVER, "measurements": FAILOVER["measurements"][:1]}
    self.assertEqual(views.failover(kills).plots(), [])

  def test_transport(self):
    made = views.transport(TRANSPORT)
    self.assertEqual(titled(made)["Links"][1][1],
                     ["", "shm", "9.00", "12.0", "-", "-", "-", "1.25"])
    self.assertEqual(titled(made)["Targets"][1],
                     [["tcp / bare", "1.30", "1.25", "met"]])
    # Nothing went one way.
    [plot] = made.plots()
    self.assertEqual(plot.series["tcp"], [(64, 9.0), (4096, 9.0)])

  def test_connections(self):
    made = views.connections(CONNECTIONS)
    heads, lines = titled(made)["Figures"]
    self.assertEqual(dict(zip(heads, lines[0])), {
        "measure": "sessions", "opened": "1,000", "refused": "-",
        "puts_ratio": "0.970", "gets_ratio": "1.00"})
    self.assertEqual(made.plots()[0].series["puts"],
                     [("sessions", 0.97, 0.96, 0.98)])

  def test_tables_of_any_bench(self):
    made = views.any_bench(CONTROLLER)
    self.assertEqual(titled(made)["Fig. 5, us"],
                     (["stores", "wrap", "undo"],
                      [["1", "1.50", "1,234"], ["2", "2", "3"]]))
    self.assertEqual(titled(made)["marks"][1],
                     [["Fig. 5", "steps", "not met", "5", "4"]])
    lines, bars = made.plots()
    self.assertEqual((lines.name, lines.kind, lines.y_label),
                     ("5-1", "lines", "us"))
    self.assertEqual(lines.series["undo"], [(1, 1234.5), (2, 3)])
    self.assertEqual((bars.kind, bars.series),
                     ("bars", {"lines": [("wrap", 600)]}))


class FormTest(unittest.TestCase):

  def test_wrong_forms_are_refused(self):
    for wrong in ([], 3, {}, {"bench": "engine"}, {"bench": 1, "facts": {}}):
      with self.assertRaises(ValueError):
        form.check(wrong)
    form.check(FAILOVER)


class ProgramTest(unittest.TestCase):

  def setUp(self):
    temporary = tempfile.TemporaryDirectory()
    self.addCleanup(temporary.cleanup)
    self.folder = temporary.name
    self.source = os.path.join(self.folder, "source.json")
    self.write(json.dumps(FAILOVER))

  def write(self, text):
    with open(self.source, "w", encoding="utf-8") as file:
      file.write(text)

  def run_report(self, *words):
    with contextlib.redirect_stdout(io.StringIO()) as said, \
         contextlib.redirect_stderr(io.StringIO()):
      return report.main(words), said.getvalue()

  def test_files(self):
    old, other = (os.path.join(self.folder, name)
                  for name in ("failover-old.svg", "other.svg"))
    for path in (old, other):
      with open(path, "w", encoding="utf-8"):
        pass
    self.assertEqual(self.run_report("/nowhere/at/all", self.folder)[0], 1)
    self.assertTrue(os.path.exists(old))
    self.assertEqual(self.run_report(self.source, self.folder,
                                     "--formats=png,svg")[0], 0)
    self.assertEqual(sorted(os.listdir(self.folder)), [
        "failover-stops.png", "failover-stops.svg", "failover.md", "other.svg",
        "source.json"])
    with open(os.path.join(self.folder, "failover.md"),
              encoding="utf-8") as file:
      self.assertEqual(file.read(), page.markdown(views.failover(FAILOVER),
                                                  "failover", "png"))

  def test_text(self):
    code, text = self.run_report(self.source)
    self.assertEqual((code, text), (0, page.text(views.failover(FAILOVER))))
    self.assertIn("kill head to next write", text)

  def test_errors(self):
    self.assertEqual(self.run_report(self.source, "/no/such/folder")[0], 1)
    for text in ("{", "{}", '{"bench": "engine", "facts": {}}'):
      self.write(text)
      self.assertEqual(self.run_report(self.source, self.folder)[0], 1)
    for words in ((), ("a", "b", "c"), (self.source, "--formats=gif")):
      done = subprocess.run([sys.executable, "-B", PROGRAM, *words],
                            stderr=subprocess.DEVNULL, check=False)
      self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
  unittest.main()
