"""The report of bench_service, from a sample of service.json."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join("bench", "report"))
# pylint: disable=wrong-import-position
import page
import plots
import service_view


def row(subject, mode="closed", **others):
  closed = mode == "closed"
  sample = {
      "mode": mode, "workload": "put", "value_size": 1024, "objects": 100000,
      "outstanding": 32 if closed else None,
      "load_percent": None if closed else 50,
      "offered_per_s": None if closed else 6000.0,
      "subject": subject, "ops_per_s": 12345.0, "p50_us": 81.5,
      "p99_us": 900.25, "p999_us": 1200.0, "p9999_us": 5000.0,
      "max_us": 70001.0, "worst_us": 80000.0, "operations": 5000,
      "spread": 0.05, "rounds": [12000.0, 12345.0, 13000.0],
      "lateness_p50_us": 5.0, "lateness_p99_us": 50.0,
      "processor_us_per_op": {"driver": 20.5, "head": 30.0, "tail": 15.5},
      "others_processors": 0.03, "foreign_processors": 0.5,
      "steal": 0.012, "idle": 0.2, "errors": 0,
      "ratio_to": {"redis": {"ops_per_s": 0.75, "p50": 2.0, "p99": 3.0}},
  }
  sample.update(others)
  return sample


SAMPLE = {
    "bench": "service",
    "facts": {"processor": "one <fast> & good"},
    "subjects": [
        {"name": "kamino-tcp", "kind": "kamino", "about": "4 nodes"},
        {"name": "redis", "kind": "redis", "about": "3 < 4"},
        {"name": "redis-aof", "kind": "redis", "about": "synced"}],
    "measurements": [
        row("kamino-tcp"), row("redis", errors=7), row("redis-aof"),
        row("kamino-tcp", "open"), row("redis", "open", ops_per_s=3000.0),
        row("redis-aof", "open", ops_per_s=0.0, operations=0, p50_us=0,
            p99_us=0, p999_us=0, rounds=[]),
        row("kamino-tcp", "endurance", ratio_to={}),
        row("kamino-tcp", workload="get", outstanding=1),
    ],
}


class ServiceViewTest(unittest.TestCase):

  def test_the_report_contains_the_measurements(self):
    text = page.markdown(service_view.report(SAMPLE), "service")
    for expected in ("one <fast> & good", "`redis`: 3 < 4", "12,345",
                     "| 0.75, 3.0 |", "| 7 |", "32 outstanding",
                     "50 %: 6,000/s", "the long slice", "head 30.0, tail 15.5",
                     "## put, 1024 B, 100000 objects: closed loads",
                     "(service-get-1024-throughput.svg)"):
      self.assertIn(expected, text)
    self.assertIn("| redis | 12,345 | 5 % | 81.5 | 900 | 1,200 | 5,000 | "
                  "70,001 | - | 1 | 0.500 | 1.2 % | 7 |", text)
    for line in text.splitlines():
      if line.startswith("| 32"):
        self.assertTrue(line.startswith("| 32 outstanding | kamino-tcp |"))
      if line.startswith("|"):
        self.assertTrue(line.endswith("|"))

  def test_plots(self):
    made = {plot.name: plot for plot in service_view.report(SAMPLE).plots()}
    self.assertEqual(sorted(made), [
        "get-1024-throughput", "put-1024-latency", "put-1024-throughput"])
    lines = made["put-1024-latency"].series
    self.assertEqual(list(lines), [
        f"{subject}, {quantile}" for subject in ("kamino-tcp", "redis")
        for quantile in ("p50", "p99", "p99.9")])
    self.assertEqual(lines["redis, p99"], [(3.0, 900.25)])
    self.assertEqual(made["put-1024-throughput"].series["redis"],
                     [("32", 12.345, 12.0, 13.0)])

  def test_subjects_have_different_colours(self):
    names = [subject["name"] for subject in SAMPLE["subjects"]]
    self.assertEqual(len(set(plots.styles(names).values())), 3)


if __name__ == "__main__":
  unittest.main()
