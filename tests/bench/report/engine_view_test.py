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


if __name__ == "__main__":
  unittest.main()
