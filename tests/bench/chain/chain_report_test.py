"""Marks, costs, fitted latencies, tables and plots, of a sample."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.realpath(__file__)))))
PROGRAM = os.path.join(ROOT, "bench", "chain", "chain_report.py")
sys.path.insert(0, os.path.dirname(PROGRAM))
# pylint: disable=wrong-import-position
import chain_report
import costs
import figures
import marks
import model

NODES = {"kamino": 2, "kamino-simple": 2, "traditional-log": 1}
PRICES = {"about": "of <this> test", "currency": "USD", "processor_hour": 0.5,
          "processors_of_a_node": 2, "memory_gib_hour": 0.1, "data_gib": 10}


def row(subject, workload="put", failures=2, **others):
  sample = {
      "suite": "ycsb", "failures": failures, "delay_ns": 0, "mode": "closed",
      "workload": workload, "value_size": 1024, "objects": 1000,
      "outstanding": 1, "load_percent": None, "offered_per_s": None,
      "subject": subject, "ops_per_s": 1000.0, "p50_us": 100.0,
      "p99_us": 900.0, "mean_us": 110.0, "writes_mean_us": 120.0,
      "writes_p50_us": 110.0, "operations": 5000, "spread": 0.02,
      "processor_us_per_op": {"driver": 99.0, "head": 40.0, "middle1": 20.0,
                              "tail": 10.0, "manager": 70.0, "etcd": 60.0},
      "foreign_processors": 0.5, "errors": 0}
  sample.update(others)
  return sample


def tree(subject, workload, **others):
  return row(subject, workload, suite="tree", outstanding=None,
             offered_per_s=4000.0, **others)


def stored(subject, failures=2):
  nodes = failures + NODES[subject]
  times = nodes + (0.5 if subject == "kamino" else 0)
  return {"subject": subject, "failures": failures, "nodes": nodes,
          "formula": "f+1", "by_formula": times, "heap_bytes": 1 << 20,
          "files": {"heap": 1 << 20, "undo_copy": 0, "ring": 1 << 20},
          "by_files": times, "used_bytes": 1 << 20, "data_bytes": 1 << 18,
          "by_use": times,
          "copy_hit_rate": 0.875 if subject == "kamino" else None}


def sample():
  results = {
      "facts": {"processor": "one <fast> & good"}, "prices": PRICES,
      "subjects": [{"name": name, "kind": "chain", "failures": f,
                    "nodes": f + NODES[name], "about": "1 < 2"}
                   for f in (1, 2, 3) for name in NODES],
      "measurements": [
          # A node adds 30 us to a put, 50 us where it copies.
          *(row("kamino", failures=f, p50_us=40.0 + 30 * (f + 2))
            for f in (1, 2, 3)),
          *(row("traditional-log", failures=f, p50_us=40.0 + 50 * (f + 1))
            for f in (1, 2, 3)),
          row("kamino", "ycsb-a", mean_us=100.0),
          row("kamino-simple", "ycsb-a"),
          row("traditional-log", "ycsb-a", mean_us=230.0),
          row("kamino", "ycsb-a", outstanding=32, ops_per_s=3000.0),
          row("kamino-simple", "ycsb-a", outstanding=32, ops_per_s=9000.0),
          row("traditional-log", "ycsb-a", outstanding=32, ops_per_s=2000.0,
              processor_us_per_op={"driver": 1.0, "head": 100.0}, errors=7),
          row("kamino", "ycsb-c", spread=0.3, mean_us=125.0),
          row("traditional-log", "ycsb-c", mean_us=100.0),
          tree("kamino", "tree-spaced", mean_us=100.0, writes_mean_us=300.0),
          tree("kamino", "tree-bursts", mean_us=107.0, writes_mean_us=420.0),
          tree("kamino", "tree-spaced-any"), tree("kamino", "tree-bursts-any"),
          tree("traditional-log", "tree-spaced"),
          tree("traditional-log", "tree-bursts", mean_us=220.0),
          row("kamino", suite="delay", delay_ns=300, p50_us=1000.0),
      ],
      "storage": [stored(name) for name in NODES],
      "links": [{"subject": "kamino", "failures": 2, "value_size": 64,
                 "operations": 10, "bytes_per_op": 321.0,
                 "messages_per_op": 1.5}]}
  results["costs"] = costs.of(results, 2)
  results["model"] = model.of(results)
  results["marks"] = marks.of(results, 2)
  return results


class FiguresTest(unittest.TestCase):

  def test_rows_are_found_by_what_they_are_of(self):
    results = sample()
    self.assertEqual(figures.row(results, "put", "kamino", 2)["p50_us"], 160)
    self.assertEqual(
        figures.row(results, "put", "kamino", 2, delay_ns=300)["p50_us"], 1000)
    self.assertIsNone(figures.row(results, "put", "images", 2))
    self.assertEqual(figures.most_outstanding(results, "ycsb-a", 2), 32)
    self.assertIsNone(figures.most_outstanding(results, "ycsb-e", 2))

  def test_only_nodes_times_count(self):
    self.assertEqual(figures.busiest(row("kamino")), 40)
    self.assertEqual(figures.all_nodes(row("kamino")), 70)


class MarksTest(unittest.TestCase):

  def setUp(self):
    self.marks = {mark["name"]: mark for mark in sample()["marks"]}

  def of(self, *words):
    found = [m for name, m in self.marks.items()
             if all(word in name for word in words)]
    self.assertEqual(len(found), 1, (words, found))
    return found[0]

  def check(self, words, here, holds):
    mark = self.of(*words)
    if here is None:
      self.assertIsNone(mark["here"])
    else:
      self.assertAlmostEqual(mark["here"], here)
    self.assertEqual(mark["holds"], holds, mark)

  def test_the_papers_against_the_traditional_chain(self):
    self.check(("ycsb-a", "mean latency"), 2.3, True)
    self.check(("ycsb-a", "throughput of"), 1.5, False)
    self.check(("ycsb-a", "busiest"), 2.5, True)
    self.check(("ycsb-f", "mean latency"), None, None)
    # Within the spread.
    self.check(("ycsb-c", "mean latency"), 1.25, True)

  def test_dependent_transactions(self):
    self.check(("tree", ": kamino", "all operations"), 1.07, True)
    self.check(("tree", ": kamino", "inserts"), 1.4, True)
    self.check(("tree", ": traditional-log"), 2.0, False)
    self.assertEqual(self.of("tree", ": kamino", "inserts")["note"],
                     "of different keys: 1.00")

  def test_money_and_storage(self):
    # 4 nodes of a unit each and 4 data (4.5 dynamic); 3 and 3 traditional.
    self.check(("ycsb-a for the money, measured", "best"),
               9000 / (4 + 4) / max(3000 / (4 + 4.5), 2000 / (3 + 3)), True)
    self.check(("ycsb-a for the money, measured", "over traditional"),
               9000 / (4 + 4) / (2000 / (3 + 3)), False)
    self.check(("ycsb-b for the money, apart",), None, None)
    self.check(("storage", "by formula"), 1.5, False)


class ModelTest(unittest.TestCase):

  def test_a_line(self):
    self.assertEqual(model.line([(1, 5), (2, 7), (3, 9)]), (2, 3))
    self.assertIsNone(model.line([(1, 5)]))
    self.assertIsNone(model.line([(1, 5), (1, 7)]))

  def test_hops_transactions_and_copies(self):
    fitted = {entry["subject"]: entry for entry in sample()["model"]}
    self.assertAlmostEqual(fitted["kamino"]["node_us"], 30)
    self.assertAlmostEqual(fitted["kamino"]["rest_us"], 40)
    self.assertAlmostEqual(fitted["kamino"]["executes_us"], 20)
    self.assertAlmostEqual(fitted["kamino"]["hop_us"], 10)
    self.assertAlmostEqual(fitted["traditional-log"]["beyond_kamino_us"], 20)


class ReportTest(unittest.TestCase):

  def test_the_page_has_what_was_measured(self):
    page = chain_report.page(sample())
    for expected in ("one &lt;fast&gt; &amp; good", "1 &lt; 2", "<td>7</td>",
                     "memory slower by 300 ns", "not measured",
                     "of &lt;this&gt; test", "<td>321</td>", "<td>87.5 %</td>"):
      self.assertIn(expected, page)

  def test_needs_nothing_else(self):
    page = chain_report.page(sample()).replace("http://www.w3.org/2000/svg", "")
    for forbidden in ("http", "<script", "<link", "@import", "src="):
      self.assertNotIn(forbidden, page)

  def test_tables_as_in_documents_and_as_text(self):
    for line in chain_report.markdown(sample()).splitlines():
      if line.startswith("|"):
        self.assertTrue(line.endswith("|"))
    text = chain_report.as_text(sample())
    self.assertIn("Dependent transactions, f = 2", text)
    self.assertNotIn(" \n", text)

  def test_plots_are_well_formed(self):
    written = chain_report.files(sample())
    pictures = sorted(n for n in written if n.endswith(".svg"))
    self.assertEqual(pictures, [
        "chain-busiest-f2-32.svg", "chain-delay-put-1.svg",
        "chain-latency-f1-1.svg", "chain-latency-f2-1.svg",
        "chain-latency-f3-1.svg", "chain-throughput-f2-32.svg",
        "chain-tree-4000.svg"])
    for name in pictures:
      xml.etree.ElementTree.fromstring(written[name])

  def test_subjects_have_different_colours(self):
    palette = chain_report.Palette(
        [{"name": n} for n in (*NODES, "images", "kamino@3", "kamino@2")])
    self.assertEqual(len(set(palette.values())), 6)

  def test_as_a_program(self):
    with tempfile.TemporaryDirectory() as folder:
      source = os.path.join(folder, "chain.json")
      with open(source, "w", encoding="utf-8") as file:
        json.dump(sample(), file)
      self.assertEqual(self.run_report(source, folder), 0)
      with open(os.path.join(folder, "chain.md"), encoding="utf-8") as file:
        self.assertEqual(file.read(), chain_report.markdown(sample()))
      self.assertEqual(self.run_report(source, "/no/such/folder"), 1)
      with open(source, "w", encoding="utf-8") as file:
        file.write("{}")
      self.assertEqual(self.run_report(source, folder), 1)
      self.assertEqual(self.run_report(source), 2)

  def run_report(self, *words):
    return subprocess.run([sys.executable, "-B", PROGRAM, *words],
                          stderr=subprocess.DEVNULL, check=False).returncode


if __name__ == "__main__":
  unittest.main()
