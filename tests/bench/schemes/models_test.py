"""bench-schemes: whose results it says those of models are."""

import os
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.realpath(__file__)))))
sys.path.insert(0, os.path.join(ROOT, "bench", "schemes"))
# pylint: disable=wrong-import-position
import schemes
import schemes_report
# After schemes_report, which says where pages of benches are made.
import judge
import model_tables
from made_up_results import results

CONTROLLER = {"facts": {"scale": "full"}, "figures": [
    {"figure": "9", "title": "response", "tables": [
        {"title": "us", "columns": ["", "a"], "rows": [["one", 1]]}],
     "marks": [{"what": "equal", "paper": "it is", "ours": "1.08",
                "met": True}]}]}
CRASHES = {"facts": {"scale": "full"}, "rows": [
    {"workload": "ycsb-a", "queue": 1, "crashes": 20, "inconsistent": 1,
     "found": 1, "repaired": 1, "lost": 0, "wrong": 0, "lost_needlessly": 0}]}
FILE = "bench/out/controller.json"


def with_models(date="2026-11-27 17:59 UTC", **more):
  made = {**results(), "wrap_model": CONTROLLER, **more}
  made["facts"] = {"date": date}
  judge.judge(made)
  return made


def given(model, written):
  return {"given": {model: {"file": FILE, "written": written}}}


def said(made):
  """What is said of models above tables, by title."""
  return {title: said for title, _, said in schemes_report.tables(made)
          if "this run" in said}


class ModelsTest(unittest.TestCase):

  def test_tables_say_how_old_the_model_is(self):
    made = with_models(**given("wrap_model", "2026-11-24 17:00 UTC"))
    whose = (f"not of this run: from {FILE}, of 2026-11-24 17:00 UTC (3 days "
             "before it), of which commit is not known")
    known = "N" + whose[1:] + "."
    self.assertEqual(said(made), {
        "WrAP's marks": f"Its timing model is {whose}.",
        "WrAP's timing model: response, us": known,
        "WrAP's timing model: marks": known})
    self.assertIn(("WrAP's timing model", whose), schemes_report.facts(made))
    page = schemes_report.page(made)
    self.assertEqual(page.count("of which commit is not known"), 4)

  def test_age_is_in_words(self):
    for written, words in (("2026-11-27 17:59 UTC", ""),
                           ("2026-11-27 17:58 UTC", " (1 minute before it)"),
                           ("2026-11-27 15:57 UTC", " (2 hours before it)"),
                           ("2026-11-26 17:59 UTC", " (1 day before it)"),
                           ("2026-11-27 18:10 UTC", ""), ("some day", "")):
      self.assertEqual(model_tables.age(written, "2026-11-27 17:59 UTC"), words)
    self.assertEqual(model_tables.age("2026-11-26 17:59 UTC", None), "")

  def test_a_model_may_say_it_itself(self):
    made = with_models(wrap_model={**CONTROLLER, "facts": {
        "date": "2026-11-27 16:00 UTC", "commit": "abc"}})
    self.assertEqual(model_tables.whose(made, "wrap_model"),
                     "from a file, of 2026-11-27 16:00 UTC (1 hour before it), "
                     "commit abc")

  def test_what_is_not_known_is_not_guessed(self):
    made = with_models()
    self.assertEqual(model_tables.whose(made, "wrap_model"),
                     "from a file, of which run and commit is not known")
    made["wrap_model"] = [{"what": "rows alone", "value": 1}]
    self.assertIn("not known", model_tables.whose(made, "wrap_model"))
    made["wrap_model"] = None
    self.assertEqual(said(made), {})

  def test_crashes_may_be_of_this_run(self):
    made = with_models(wrap_model=None, crash_model=CRASHES,
                       **given("crash_model", "2026-11-27 15:00 UTC"))
    self.assertEqual(set(said(made)), {"Archapt's marks",
                                       "Archapt: what there is no mark of",
                                       "Crashes through a cache model"})
    self.assertIn("Table 4 is not of this run: from bench",
                  said(made)["Archapt's marks"])
    made["loads"] = [{"run": "bench_crash_model, crashes through a cache",
                      "foreign_processors": 0.25, "steal": 0.01}]
    del made["given"]
    self.assertEqual(said(made), {})

  def test_results_say_which_file_was_given(self):
    with tempfile.TemporaryDirectory() as folder:
      path = os.path.join(folder, "controller.json")
      with open(path, "w", encoding="utf-8"):
        pass
      os.utime(path, (1_700_000_000, 1_700_000_000))
      settings = schemes.parse([f"--wrap_model={path}"])
      bench = schemes.Bench(settings, {"wrap_model": CONTROLLER})
    self.assertEqual(bench.results["given"], {"wrap_model": {
        "file": path, "written": "2023-11-14 22:13 UTC"}})
    self.assertEqual(schemes.Bench(schemes.parse([]), {}).results["given"], {})


if __name__ == "__main__":
  unittest.main()
