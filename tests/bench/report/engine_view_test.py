"""The report of bench_engine, from a sample of engine.json."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join("bench", "report"))
# pylint: disable=wrong-import-position
import engine_view
import page


def row(scheme, threads=1, alpha=None, **others):
  sample = {
      "suite": "ycsb", "scheme": scheme, "alpha": alpha, "workload": "ycsb-a",
      "distribution": "zipfian", "threads": threads, "value_size": 1000,
      "ops_per_s": 123456.7, "p50_ns": 1500.0, "p99_ns": 9000.5,
      "fences_per_tx": None, "lines_flushed_per_tx": None,
      "bytes_storage": 1 << 30, "hit_rate": None, "retries_per_tx": 0,
      "spread": 0.05, "rounds": [120000.0, 123456.7, 126000.0],
      "ratio_to": {"kamino-simple": 1, "undo-object": None},
      "kinds": {"read": {"p50_ns": 700.0, "p99_ns": 1400.0}},
  }
  sample.update(others)
  return sample


SAMPLE = {
    "bench": "engine",
    "facts": {"processor": "one <fast> & good"},
    "measurements": [
        row("kamino-simple", fences_per_tx=2.0, lines_flushed_per_tx=17.5),
        row("undo-object"),
        row("kamino-simple", threads=2),
        row("undo-object", threads=2),
        row("kamino-dynamic", alpha=0.3, suite="alpha", hit_rate=0.875),
        row("kamino-dynamic", alpha=0.5, suite="alpha", ops_per_s=0.0,
            rounds=[], kinds={}),
    ],
    "breakdown": [
        {"suite": "micro", "scheme": "unsafe", "alpha": None,
         "workload": "overwrite", "distribution": "hot", "threads": 1,
         "value_size": 64, "total_ns": 345.0,
         "parts_ns": {"look-up": None, "fences": 350.0, "copies": -5.0}},
    ],
}


class EngineViewTest(unittest.TestCase):

  def table(self, title):
    """(heads, lines)."""
    return next(table.table for table in engine_view.report(SAMPLE).tables()
                if table.title == title)

  def test_the_report_contains_the_measurements(self):
    report = engine_view.report(SAMPLE)
    for text in (page.markdown(report, "engine"), page.text(report)):
      for expected in ("one <fast> & good", "kamino-simple", "123,457",
                       "87.50 %", "kamino-dynamic@0.3", "17.5", "700 / 1,400"):
        self.assertIn(expected, text)
    _, lines = self.table("ycsb")
    self.assertEqual([line[:2] for line in lines], [
        ["ycsb-a zipfian 1000 B, 1 thread", "kamino-simple"],
        ["", "undo-object"],
        ["ycsb-a zipfian 1000 B, 2 threads", "kamino-simple"],
        ["", "undo-object"]])

  def test_the_breakdown_has_a_table(self):
    title = "Where the nanoseconds of a transaction go"
    self.assertEqual(self.table(title), (
        ["", "scheme", "look-up", "fences", "copies", "together"],
        [["overwrite hot 64 B, 1 thread", "unsafe", "-", "350", "-5.00",
          "345"]]))
    without = {name: value for name, value in SAMPLE.items()
               if name != "breakdown"}
    self.assertNotIn("nanoseconds",
                     page.text(engine_view.report(without)))

  def test_plots(self):
    threads, alpha, steps = engine_view.report(SAMPLE).plots()
    self.assertEqual((threads.name, threads.x_label, threads.kind),
                     ("ycsb-ycsb-a-zipfian", "threads", "bars"))
    self.assertEqual(list(threads.series), ["kamino-simple", "undo-object"])
    self.assertEqual(threads.series["undo-object"], [
        (x, 123.4567, 120.0, 126.0) for x in ("1", "2")])
    self.assertEqual(alpha.x_label, "value size, bytes")
    self.assertEqual(alpha.series["kamino-dynamic@0.5"],
                     [("1000", 0.0, 0.0, 0.0)])
    self.assertEqual(list(steps.series), ["look-up", "fences", "copies"])

  def test_ratios_to_the_floor(self):
    micro = {"suite": "micro", "workload": "overwrite-bytes",
             "distribution": "hot", "value_size": 64}
    results = {**SAMPLE, "breakdown": [], "measurements": [
        row("kamino-simple", **micro, ops_per_s=2e6),
        row("floor", **micro, ops_per_s=5e6),
        row("kamino-simple", **{**micro, "workload": "empty"})]}
    table = next(table for table in engine_view.report(results).tables()
                 if "floor" in table.title)
    self.assertEqual(table.table, (
        ["", "kamino-simple"],
        [["overwrite-bytes hot 64 B, 1 thread", "2.50"]]))

  def test_ratios_to_rivals(self):
    results = {**SAMPLE, "breakdown": [], "measurements": [
        row("kamino-simple", suite="maps", ops_per_s=3e6),
        row("lmdb", suite="maps", ops_per_s=1e6)]}
    table = next(table for table in engine_view.report(results).tables()
                 if "over each map" in table.title)
    self.assertEqual(table.table, (
        ["", "lmdb"], [["ycsb-a zipfian 1000 B, 1 thread", "3.00"]]))

  def test_injected_delays(self):
    def pair(drain_ns, ratio, fences):
      return [row("kamino-simple", drain_ns=drain_ns, fences_per_tx=fences,
                  ratio_to={"undo-object": ratio},
                  ratio_range={"undo-object": [ratio - 0.1, ratio + 0.1]}),
              row("undo-object", drain_ns=drain_ns, fences_per_tx=5 * fences)]
    results = {**SAMPLE, "breakdown": [], "measurements": [
        *pair(0, 1.5, 1.0), *pair(100, 2.5, 1.0)]}
    report = engine_view.report(results)
    plot = report.plots()[0]
    self.assertIn("injected", plot.x_label)
    cell = "ycsb-a zipfian 1000 B, 1 thread"
    self.assertEqual([point[:2] for point in plot.series[cell]],
                     [(0, 1.5), (100, 2.5)])
    self.assertEqual(report.tables()[0].table, (
        ["", "+0 ns", "+100 ns", "2 is passed at", "fences"],
        [[cell, "1.50", "2.50", "50 ns", "5.00 : 1.00"]]))
    self.assertIsNone(engine_view.passes([(0, 1.1), (100, 1.9)], 2))
    self.assertEqual(engine_view.passes([(0, 2.1), (100, 3)], 2), 0)


if __name__ == "__main__":
  unittest.main()
