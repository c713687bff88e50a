"""bench/chain: marks, costs, fitted latencies and the report, of a sample."""

import os
import sys
import unittest

for folder in ("report", "chain"):
  sys.path.insert(0, os.path.join("bench", folder))
# pylint: disable=wrong-import-position
import chain_view
import costs
import figures
import marks
import model
import page
import plots

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
      "bench": "chain", "facts": {"processor": "one <fast> & good"},
      "prices": PRICES,
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

  def test_rows_are_found_by_their_settings(self):
    results = sample()
    self.assertEqual(figures.row(results, "put", "kamino", 2)["p50_us"], 160)
    self.assertEqual(
        figures.row(results, "put", "kamino", 2, delay_ns=300)["p50_us"], 1000)
    self.assertIsNone(figures.row(results, "put", "images", 2))
    self.assertEqual(figures.most_outstanding(results, "ycsb-a", 2), 32)
    self.assertIsNone(figures.most_outstanding(results, "ycsb-e", 2))

  def test_only_times_of_nodes_count(self):
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

  def test_kamino_is_compared_with_the_traditional_chain(self):
    self.check(("ycsb-a", "mean latency"), 2.3, True)
    self.check(("ycsb-a", "throughput of"), 1.5, False)
    self.check(("ycsb-a", "busiest"), 2.5, True)
    self.check(("ycsb-f", "mean latency"), None, None)
    # Within the spread.
    self.check(("ycsb-c", "mean latency"), 1.25, True)

  def test_dependent_transactions_have_marks(self):
    self.check(("tree", ": kamino", "all operations"), 1.07, True)
    self.check(("tree", ": kamino", "inserts"), 1.4, True)
    self.check(("tree", ": traditional-log"), 2.0, False)
    self.assertEqual(self.of("tree", ": kamino", "inserts")["note"],
                     "of different keys: 1.00")

  def test_money_and_storage_have_marks(self):
    # 4 nodes of a unit each and 4 data (4.5 dynamic); 3 and 3 traditional.
    self.check(("ycsb-a for the money, measured", "best"),
               9000 / (4 + 4) / max(3000 / (4 + 4.5), 2000 / (3 + 3)), True)
    self.check(("ycsb-a for the money, measured", "over traditional"),
               9000 / (4 + 4) / (2000 / (3 + 3)), False)
    self.check(("ycsb-b for the money, apart",), None, None)
    self.check(("storage", "by formula"), 1.5, False)


class ModelTest(unittest.TestCase):

  def test_a_line_is_fitted(self):
    self.assertEqual(model.line([(1, 5), (2, 7), (3, 9)]), (2, 3))
    self.assertIsNone(model.line([(1, 5)]))
    self.assertIsNone(model.line([(1, 5), (1, 7)]))

  def test_hops_transactions_and_copies_are_fitted(self):
    fitted = {entry["subject"]: entry for entry in sample()["model"]}
    self.assertAlmostEqual(fitted["kamino"]["node_us"], 30)
    self.assertAlmostEqual(fitted["kamino"]["rest_us"], 40)
    self.assertAlmostEqual(fitted["kamino"]["executes_us"], 20)
    self.assertAlmostEqual(fitted["kamino"]["hop_us"], 10)
    self.assertAlmostEqual(fitted["traditional-log"]["beyond_kamino_us"], 20)


class ReportTest(unittest.TestCase):

  def test_the_report_contains_the_measurements(self):
    report = chain_view.report(sample())
    for text in (page.markdown(report, "chain"), page.text(report)):
      for expected in ("one <fast> & good", "kamino, f = 2: 1 < 2",
                       "memory slower by 300 ns", "not measured",
                       "of <this> test", "321", "87.5 %",
                       "Dependent transactions, f = 2"):
        self.assertIn(expected, text)
    self.assertNotIn(" \n", page.text(report))

  def test_plots(self):
    made = {plot.name: plot for plot in chain_view.report(sample()).plots()}
    self.assertEqual(sorted(made), [
        "busiest-f2-32", "delay-put-1", "latency-f1-1", "latency-f2-1",
        "latency-f3-1", "throughput-f2-32", "tree-4000"])
    self.assertEqual(made["throughput-f2-32"].series["kamino-simple"],
                     [("ycsb-a", 9.0)])
    self.assertEqual(made["busiest-f2-32"].series["traditional-log"],
                     [("ycsb-a", 100.0)])

  def test_subjects_have_different_colours(self):
    found = plots.styles([*NODES, "images", "kamino@3", "kamino@2"])
    self.assertEqual(len(set(found.values())), 6)


if __name__ == "__main__":
  unittest.main()
