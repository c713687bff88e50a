"""The page of measurements, from a sample of engine.json."""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

REPORT = os.path.join("bench", "engine", "report.py")


def load_report():
  spec = importlib.util.spec_from_file_location("report", REPORT)
  module = importlib.util.module_from_spec(spec)
  spec.loader.exec_module(module)
  return module


report = load_report()


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


class ReportTest(unittest.TestCase):

  def test_has_what_was_measured(self):
    page = report.page(SAMPLE)
    for expected in ("one &lt;fast&gt; &amp; good", "kamino-simple",
                     "ycsb-a zipfian 1000 B, 2 threads", "123,457", "87.50 %",
                     "kamino-dynamic@0.3", "17.5", "700 / 1,400"):
      self.assertIn(expected, page)

  def test_says_where_the_nanoseconds_go(self):
    page = report.page(SAMPLE)
    for expected in ("<th>fences</th>", "<td>350</td>", "<td>-5.00</td>",
                     "<td>345</td>", "overwrite hot 64 B, 1 thread"):
      self.assertIn(expected, page)
    without = {name: value for name, value in SAMPLE.items()
               if name != "breakdown"}
    self.assertNotIn("nanoseconds", report.page(without))

  def test_needs_nothing_else(self):
    page = report.page(SAMPLE).replace("http://www.w3.org/2000/svg", "")
    for forbidden in ("http", "<script", "<link", "@import", "src="):
      self.assertNotIn(forbidden, page)

  def test_plots_are_well_formed(self):
    page = report.page(SAMPLE)
    plots = page.split("<svg")[1:]
    self.assertEqual(len(plots), 2)
    for plot in plots:
      svg = "<svg" + plot.split("</svg>")[0] + "</svg>"
      tree = xml.etree.ElementTree.fromstring(svg)
      for rect in tree.iter("{http://www.w3.org/2000/svg}rect"):
        self.assertGreaterEqual(float(rect.get("height")), 0)

  def test_numbers(self):
    self.assertEqual(report.number(None), "-")
    self.assertEqual(report.number(0), "0")
    self.assertEqual(report.number(1234.5), "1,234")
    self.assertEqual(report.number(3.14159), "3.14")
    self.assertEqual(report.number(0.012345), "0.0123")
    self.assertEqual(report.nice_ceiling(130), 200)
    self.assertEqual(report.nice_ceiling(0.5), 0.5)
    self.assertEqual(report.nice_ceiling(0), 1)

  def test_as_a_program(self):
    with tempfile.TemporaryDirectory() as folder:
      source = os.path.join(folder, "engine.json")
      target = os.path.join(folder, "engine.html")
      with open(source, "w", encoding="utf-8") as file:
        json.dump(SAMPLE, file)
      self.assertEqual(self.run_report(source, target), 0)
      with open(target, encoding="utf-8") as file:
        self.assertEqual(file.read(), report.page(SAMPLE))
      with open(source, "w", encoding="utf-8") as file:
        file.write("{")
      self.assertEqual(self.run_report(source, target), 1)
      self.assertEqual(self.run_report("/nowhere.json", target), 1)
      self.assertEqual(self.run_report(source), 2)

  def run_report(self, *words):
    return subprocess.run([sys.executable, "-B", REPORT, *words],
                          stderr=subprocess.DEVNULL, check=False).returncode


if __name__ == "__main__":
  unittest.main()
