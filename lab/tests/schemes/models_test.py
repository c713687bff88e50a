"""bench-schemes: the origin of models' results in its reports."""

import os
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.realpath(__file__)))))
sys.path.insert(0, os.path.join(ROOT, "lab", "schemes"))
# pylint: disable=wrong-import-position
import schemes
import schemes_view
# After schemes_view, which adds the folder of the reports of benches.
import judge
import model_origin
import page
from made_up_results import results

CONTROLLER = {"facts": {"scale": "full"}, "figures": [
    {"figure": "9", "title": "response", "tables": [
        {"title": "us", "columns": ["", "a"], "rows": [["one", 1]]}],
     "marks": [{"name": "equal", "paper": "it is", "here": "1.08",
                "holds": True}]}]}
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


class Untimed(schemes.Bench):
  """Notes what it would run."""

  def __init__(self, *words, models=()):
    super().__init__(schemes.parse(list(words)), dict(models))
    self.ran = []

  def _run(self, name, what, flags, preload):
    self.ran.append((name, "--quick" in flags))
    return CONTROLLER if name == "bench_controller" else CRASHES


def said(made):
  """The origins that stand above the models' tables, by title."""
  return {title: said for title, _, said in schemes_view.tables(made)
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
    self.assertIn(("WrAP's timing model", whose), schemes_view.facts(made))
    text = page.markdown(schemes_view.report(made), "schemes")
    self.assertEqual(" ".join(text.split()).count(
        "of which commit is not known"), 4)

  def test_age_is_in_words(self):
    for written, words in (("2026-11-27 17:59 UTC", ""),
                           ("2026-11-27 17:58 UTC", " (1 minute before it)"),
                           ("2026-11-27 15:57 UTC", " (2 hours before it)"),
                           ("2026-11-26 17:59 UTC", " (1 day before it)"),
                           ("2026-11-27 18:10 UTC", ""), ("some day", "")):
      self.assertEqual(model_origin.age(written, "2026-11-27 17:59 UTC"), words)
    self.assertEqual(model_origin.age("2026-11-26 17:59 UTC", None), "")

  def test_a_model_may_state_its_own_origin(self):
    made = with_models(wrap_model={**CONTROLLER, "facts": {
        "date": "2026-11-27 16:00 UTC", "commit": "abc"}})
    self.assertEqual(model_origin.whose(made, "wrap_model"),
                     "from a file, of 2026-11-27 16:00 UTC (1 hour before it), "
                     "commit abc")

  def test_an_unknown_origin_is_not_guessed(self):
    made = with_models()
    self.assertEqual(model_origin.whose(made, "wrap_model"),
                     "from a file, of which run and commit is not known")
    made["wrap_model"] = [{"what": "rows alone", "value": 1}]
    self.assertIn("not known", model_origin.whose(made, "wrap_model"))
    made["wrap_model"] = None
    self.assertEqual(said(made), {})

  def test_crashes_of_this_run_need_no_origin(self):
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

  def test_a_timing_model_of_this_run_needs_no_origin(self):
    title = "WrAP's timing model"
    made = with_models(loads=[{"run": "bench_controller, WrAP's timing model",
                               "foreign_processors": 0.25, "steal": 0.01}])
    self.assertEqual(said(made), {})
    self.assertIn((title, "of this run"), schemes_view.facts(made))
    made["wrap_model"] = None
    self.assertNotIn(title, dict(schemes_view.facts(made)))

  def test_a_model_runs_first_unless_it_is_given(self):
    both = [("bench_controller", False), ("bench_crash_model", False)]
    for words, ran in (
        (["--parts=crashes,model"], both),
        (["--parts=model,crashes", "--only=nothing", "--schemes=cow"], both),
        (["--parts=model", "--quick"], [("bench_controller", True)]),
        (["--parts=crashes"], both[1:]),
        (["--parts=model,crashes", f"--wrap_model={__file__}"], both[1:]),
        (["--parts=model,crashes", f"--crash_model={__file__}"], both[:1])):
      bench = Untimed(*words)
      bench.run()
      self.assertEqual(bench.ran, ran, words)
    bench = Untimed("--parts=model")
    bench.run()
    self.assertEqual(bench.results["wrap_model"], CONTROLLER)
    bench = Untimed("--parts=model", f"--wrap_model={__file__}",
                    models={"wrap_model": CONTROLLER})
    bench.run()
    self.assertEqual(bench.results["wrap_model"], CONTROLLER)

  def test_a_quick_model_has_verdicts_and_states_its_scale(self):
    made = with_models(wrap_model={**CONTROLLER, "facts": {"scale": "quick"}})
    made["facts"]["scale"] = "quick"
    judge.judge(made)
    [found] = [m for m in made["marks"] if "timing model" in m["name"]]
    self.assertIs(found["holds"], True)
    self.assertEqual(found["note"], "scale: quick")

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
