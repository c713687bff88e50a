"""Tables and plots of measurements, from a sample of service.json."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.realpath(__file__)))))
PROGRAM = os.path.join(ROOT, "bench", "service", "report.py")
sys.path.insert(0, os.path.dirname(PROGRAM))
# pylint: disable=wrong-import-position
import plots
import report


def row(subject, mode="closed", **others):
  closed = mode == "closed"
  sample = {
      "mode": mode, "workload": "put", "value_size": 1024, "objects": 100000,
      "outstanding": 32 if closed else None,
      "load_percent": None if closed else 50,
      "offered_per_s": None if closed else 6000.0,
      "subject": subject, "ops_per_s": 12345.6, "p50_us": 81.5,
      "p99_us": 900.25, "p999_us": 1200.0, "p9999_us": 5000.0,
      "max_us": 70001.0, "worst_us": 80000.0, "operations": 5000,
      "spread": 0.05, "rounds_ops_per_s": [12000.0, 12345.6, 13000.0],
      "lateness_p50_us": 5.0, "lateness_p99_us": 50.0,
      "processor_us_per_op": {"driver": 20.5, "head": 30.0, "tail": 15.5},
      "others_processors": 0.03, "foreign_processors": 0.5,
      "steal": 0.012, "idle": 0.2, "errors": 0,
      "ratio_to": {"redis": {"ops_per_s": 0.75, "p50": 2.0, "p99": 3.0}},
  }
  sample.update(others)
  return sample


SAMPLE = {
    "facts": {"processor": "one <fast> & good"},
    "subjects": [
        {"name": "kamino-tcp", "kind": "kamino", "about": "4 nodes"},
        {"name": "redis", "kind": "redis", "about": "3 < 4"},
        {"name": "redis-aof", "kind": "redis", "about": "synced"}],
    "measurements": [
        row("kamino-tcp"), row("redis", errors=7), row("redis-aof"),
        row("kamino-tcp", "open"), row("redis", "open", ops_per_s=3000.0),
        row("redis-aof", "open", ops_per_s=0.0, operations=0, p50_us=0,
            p99_us=0, p999_us=0, rounds_ops_per_s=[]),
        row("kamino-tcp", "endurance", ratio_to={}),
        row("kamino-tcp", workload="get", outstanding=1),
    ],
}


class ReportTest(unittest.TestCase):

  def test_the_page_has_what_was_measured(self):
    page = report.page(SAMPLE)
    for expected in ("one &lt;fast&gt; &amp; good", "3 &lt; 4", "12,346",
                     "<td>0.75, 3.0</td>", "<td>7</td>", "32 outstanding",
                     "50 %: 6,000/s", "The long slice", "head 30.0, tail 15.5",
                     "get, 1024 B"):
      self.assertIn(expected, page)

  def test_needs_nothing_else(self):
    page = report.page(SAMPLE).replace("http://www.w3.org/2000/svg", "")
    for forbidden in ("http", "<script", "<link", "@import", "src="):
      self.assertNotIn(forbidden, page)

  def test_tables_as_in_documents(self):
    text = report.markdown(SAMPLE)
    self.assertIn("### put, 1024 B, 100000 objects", text)
    for line in text.splitlines():
      if line.startswith("| 32"):
        self.assertTrue(line.startswith("| 32 outstanding | kamino-tcp |"))
      if line.startswith("|"):
        self.assertTrue(line.endswith("|"))
    self.assertIn("| redis | 12,346 | 5 % | 81.5 | 900 | 1,200 | 5,000 | "
                  "70,001 | - | 1 | 0.500 | 1.2 % | 7 |", text)

  def test_plots_are_well_formed(self):
    written = report.files(SAMPLE)
    pictures = [name for name in written if name.endswith(".svg")]
    self.assertEqual(sorted(pictures), [
        "service-get-1024-throughput.svg", "service-put-1024-latency.svg",
        "service-put-1024-throughput.svg"])
    for name in pictures:
      xml.etree.ElementTree.fromstring(written[name])
    lines = written["service-put-1024-latency.svg"]
    self.assertEqual(lines.count("<polyline"), 2 * 3)

  def test_subjects_have_different_colours(self):
    palette = plots.Palette(SAMPLE["subjects"])
    self.assertEqual(len(set(palette.values())), 3)

  def test_decades(self):
    self.assertEqual(plots.powers_of_ten(80, 1200), (1, 4))
    self.assertEqual(plots.powers_of_ten(100, 100), (2, 3))
    self.assertEqual(plots.powers_of_ten(0, 0), (-3, -2))

  def test_as_a_program(self):
    with tempfile.TemporaryDirectory() as folder:
      source = os.path.join(folder, "service.json")
      with open(source, "w", encoding="utf-8") as file:
        json.dump(SAMPLE, file)
      self.assertEqual(self.run_report(source, folder), 0)
      with open(os.path.join(folder, "service.md"), encoding="utf-8") as file:
        self.assertEqual(file.read(), report.markdown(SAMPLE))
      self.assertEqual(self.run_report(source, "/no/such/folder"), 1)
      with open(source, "w", encoding="utf-8") as file:
        file.write("{")
      self.assertEqual(self.run_report(source, folder), 1)
      self.assertEqual(self.run_report(source), 2)

  def run_report(self, *words):
    return subprocess.run([sys.executable, "-B", PROGRAM, *words],
                          stderr=subprocess.DEVNULL, check=False).returncode


if __name__ == "__main__":
  unittest.main()
