"""Alerts and dashboard: what they say of each other, and unit tests."""

import json
import os
import re
import subprocess
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
MONITORING = os.path.join(ROOT, "deploy", "monitoring")


def text(*path):
  with open(os.path.join(ROOT, *path), encoding="utf-8") as f:
    return f.read()


def page(name):
  return text("docs", "operate", name)


class MonitoringTest(unittest.TestCase):

  def setUp(self):
    self.rules = text("deploy", "monitoring", "kamino.rules.yaml")
    self.alerts = re.findall(r"- alert: (\w+)", self.rules)

  def test_rules(self):
    for words in (["check", "rules", "kamino.rules.yaml"],
                  ["test", "rules", "kamino.rules_test.yaml"]):
      done = subprocess.run(["promtool", *words], cwd=MONITORING, text=True,
                            capture_output=True, check=False)
      self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

  def test_each_alert_has_a_unit_test(self):
    tested = re.findall(r"alertname: (\w+)\n +exp_alerts:",
                        text("deploy", "monitoring", "kamino.rules_test.yaml"))
    self.assertEqual(tested, self.alerts)

  def test_each_alert_links_to_its_runbook_entry(self):
    entries = re.findall(r"^## (\w+)$", page("runbook.md"), re.M)
    self.assertEqual(sorted(entries), sorted(self.alerts))
    runbook = "docs/operate/runbook.md"
    self.assertEqual(re.findall(r"runbook: (\S+)", self.rules),
                     [f"{runbook}#{a.lower()}" for a in self.alerts])

  def test_rules_and_dashboard_use_existing_metrics(self):
    known = set(re.findall(r"^\| `(\w+)` \|", page("metrics.md"), re.M))
    self.assertGreater(len(known), 80)
    dashboard = text("deploy", "monitoring", "kamino_dashboard.json")
    in_rules = re.findall(r"^ {10}\S.*$", self.rules, re.M)
    in_dashboard = [target["expr"] for panel in json.loads(dashboard)["panels"]
                    for target in panel.get("targets", [])]
    for expressions in (in_rules, in_dashboard):
      used = [name for expression in expressions
              for name in re.findall(r"\b(?:kamino|process)_\w+", re.sub(
                  r'job=~?\\?"[^"]*"', "", expression))]
      self.assertGreater(len(used), 40)
      for name in used:
        self.assertIn(re.sub(r"_(bucket|count|sum)$", "", name), known)


if __name__ == "__main__":
  unittest.main(verbosity=2)
