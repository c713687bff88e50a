"""bench-schemes: the report of results that are made up, and what else the
machine did."""

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.realpath(__file__)))))
FOLDER = os.path.join(ROOT, "lab", "schemes")
sys.path.insert(0, FOLDER)
# pylint: disable=wrong-import-position
import schemes
import schemes_view
# After schemes_view, which adds the folder of the reports of benches.
import doc_tables
import machine_load
import page
import paste_tables
import plots
import report
from made_up_results import engine_row, point, results


def report_of(file, folder):
  """Runs the report of the benches; returns its exit code."""
  with contextlib.redirect_stdout(io.StringIO()), \
       contextlib.redirect_stderr(io.StringIO()):
    return report.main([file, folder])


def titled(made):
  """Tables by what is above them."""
  return {title: table for title, table, _ in schemes_view.tables(made)}


class ReportTest(unittest.TestCase):

  def tables(self):
    return titled(results())

  def test_one_table_compares_all_schemes(self):
    heads, lines = self.tables()["All schemes with spreads, 0 ns more a drain"]
    self.assertEqual(lines[0][heads.index("overwrite 1 KiB")], "500 ~5%")
    self.assertEqual(lines[1][heads.index("overwrite 1 KiB")], "1,000 ~5%")
    self.assertNotIn("YCSB A", heads)
    _, slower = self.tables()["All schemes with spreads, 500 ns more a drain"]
    self.assertEqual(slower, [["undo-own", "250 ~5%"]])

  def test_one_cell_compares_speeds_of_memory(self):
    heads, lines = doc_tables.rates_table(results())
    self.assertEqual(heads[0],
                     "thousand a second, 0 ns and 500 ns more a drain")
    self.assertEqual(lines[0][2], "500, 250")

  def test_counts_separate_foreground_and_background(self):
    heads, lines = doc_tables.counts_table(results())
    undo = dict(zip(heads, lines[0]))
    self.assertEqual(undo["fences: 64 B, 1 KiB, 4 KiB"], "-, 2.00, -")
    self.assertEqual(undo["lines"], "-, 4.00, -")
    self.assertEqual(undo["lines beside"], "-, 16.0, -")

  def test_both_pages_have_the_same_counts(self):
    heads, lines = doc_tables.price_table(results())
    undo = dict(zip(heads, lines[0]))
    self.assertEqual(undo["fences: 64 B, 1 KiB"], "-, 2.00")
    self.assertEqual(undo["lines: 64 B, 1 KiB"], "-, 4.00")
    self.assertEqual(undo["lines beside: 1 KiB"], "16.0")
    self.assertEqual(undo["ms more after a crash, log full"], "3.00")

  def test_data_costs_are_scaled_to_a_gib(self):
    made = results()
    made["points"] += [
        point("data", "undo-own", 64 << 20, 80 << 20,
              "bytes of persistent memory"),
        point("data", "undo-own", 64 << 20, 2e6, "ns to open"),
        point("data", "undo-own", 64 << 20, 3e6, "ns to open after the crash")]
    heads, lines = doc_tables.price_table(made)
    undo = dict(zip(heads, lines[0]))
    self.assertEqual(
        undo["persistent GiB for a GiB of data, by 64.0 MiB"], "1.25")
    self.assertEqual(undo["ms to open it: after a close, after a crash, by "
                          "64.0 MiB"], "32.0, 48.0")

  def test_the_recovery_table_shows_replay_and_roll_back(self):
    made = results()
    made["points"] += [
        point("recovery-committed", "undo-own", 1, value, measure)
        for measure, value in (
            ("ns after a crash", 7e6), ("ns after a close", 3e6),
            ("transactions committed", 4064), ("replayed", 4000),
            ("rolled back", 1), ("lost", 0))]
    heads, lines = doc_tables.recovery_table(made)
    self.assertEqual(len(lines), 1)
    undo = dict(zip(heads, lines[0]))
    self.assertEqual(undo["log full of committed"], "7.00")
    self.assertEqual(
        [undo[w] for w in ("transactions", "done again", "taken back")],
        ["4,064", "4,000", "1"])

  def test_lines_of_awaited_transactions_have_a_column(self):
    made = results()
    made["points"].append(point("durable", "unsafe", 1024, 33,
                                "lines, each waited for"))
    _, lines = doc_tables.durable_table(made)
    # The first's are those of any transaction, the thread's among them.
    self.assertEqual([line[-1] for line in lines], ["20.0", "33.0"])
    self.assertEqual(lines[0][1], "1.50, -")

  def test_a_store_that_never_flushes_is_never_durable(self):
    made = results()
    made["stores"] = ["undo-own", "cached"]
    # As runs before had it.
    made["points"] += [
        point("durable", store, 1024, 900, f"p50 {measure}")
        for store in made["stores"]
        for measure in ("ns until durable", "transactions behind")]
    heads, lines = doc_tables.durable_table(made)
    behind = heads.index("transactions behind: p50, p99")
    until = heads.index("us until durable: p50, p99")
    self.assertEqual([line[until] for line in lines], ["0.900, -", "never"])
    self.assertEqual([line[behind] for line in lines], ["900, -", "-"])

  def test_waits_with_slower_memory_have_a_column(self):
    made = results()
    made["stores"] = ["undo-own", "undo-object", "cached"]
    slow = {"memory": "1000 ns a drain"}
    made["points"] += [
        *({**point("durable", store, 1024, 900, "p50 ns until durable"),
           **memory} for store in made["stores"] for memory in ({}, slow)
          # It cannot be slowed.
          if (store, memory) != ("undo-object", slow))]
    heads, lines = doc_tables.durable_table(made)
    column = heads.index("the same, 1000 ns more a drain")
    self.assertEqual(heads[column - 1], "us until durable: p50, p99")
    self.assertEqual([line[column] for line in lines],
                     ["0.900, -", "-", "never"])

  def test_sums_are_part_of_the_storage(self):
    made = results()
    made["stores"] = ["undo-own", "archapt"]
    made["engine"] += [engine_row(store, "ycsb-a", 1000, 1)
                       for store in made["stores"]]
    made["points"].append(point("archapt-9", "archapt, ycsb-a", 1000, 3 << 20,
                                "bytes of sums"))
    heads, lines = doc_tables.counts_table(made)
    own, archapt = (dict(zip(heads, line)) for line in lines)
    storage = "storage of the records, MiB"
    self.assertEqual((own[storage], own["of that sums"]), ("1.00", "-"))
    self.assertEqual((archapt[storage], archapt["of that sums"]),
                     ("4.00", "3.00"))
    made["facts"]["scale"] = "quick"
    self.assertEqual(doc_tables.counts_table(made)[1][1][-3:],
                     ["1.00", "-", "-"])

  def test_lines_of_sums_and_replaced_lines_are_shown(self):
    made = results()
    made["points"] += [
        point("archapt-9", "archapt, overwrite", 1024, value, measure)
        for measure, value in (("lines replaced", 1.5), ("lines of sums", 2.5))]
    heads, lines = doc_tables.skipped_table(made)
    row = dict(zip(heads, lines[0]))
    self.assertEqual((row["lines replaced"], row["lines of sums"]),
                     ("1.50", "2.50"))

  def test_the_report_warns_of_a_cache_that_holds_all_data(self):
    made = results()
    made["points"].append(point("archapt-9", "archapt, overwrite", 1024, 34))
    made["last_level_cache"] = 19 << 20
    self.assertEqual(list(schemes_view.warnings(made)), [])
    self.assertIn(("last level cache, MiB", "19.0"),
                  schemes_view.facts(made))
    made["last_level_cache"] = 260 << 20
    self.assertIn("260 MiB", next(schemes_view.warnings(made)))
    # Without figures that depend on it, there is no warning.
    made["points"].pop()
    self.assertEqual(list(schemes_view.warnings(made)), [])

  def test_unmeasured_marks_are_labelled(self):
    _, lines = self.tables()["REWIND's marks"]
    self.assertEqual(lines[0][1:4], ["not measured", "-", "-"])

  def test_figures_without_a_mark_have_their_own_table(self):
    made = results()
    made["marks"].append({"name": "REWIND fig. 7", "paper": "37", "target": "",
                          "here": 3.0, "low": 2.0, "high": 4.0, "holds": "",
                          "note": "", "reason": ""})
    tables = titled(made)
    self.assertEqual(len(tables["REWIND's marks"][1]), 1)
    self.assertEqual(tables["REWIND: what there is no mark of"][1],
                     [["REWIND fig. 7", "37", "3.00 (2.00 to 4.00)", ""]])

  def test_few_rounds_give_no_verdict(self):
    made = results()
    def mark(rounds, holds, low=None, high=None):
      return {"name": "REWIND fig. 7", "paper": "37", "target": ">= 20",
              "here": 30.0, "low": low, "high": high, "holds": holds,
              "rounds": rounds, "note": "", "reason": ""}
    made["marks"] = [mark(1, "not judged"), mark(2, "not judged", 29.0, 31.0),
                     mark(0, True), mark(None, True), mark(5, True)]
    _, lines = titled(made)["REWIND's marks"]
    self.assertEqual([(line[1], line[3]) for line in lines], [
        ("not judged: one round", "one round"),
        ("not judged: 2 rounds", "29.0 to 31.0"), ("met", "counted once"),
        ("met", "-"), ("met", "-")])
    self.assertIn("marks: 3 met, 0 not met, 0 disturbed, 2 not judged;",
                  schemes_view.text(made))

  def test_one_round_has_no_spread(self):
    made = results()
    for row in made["engine"]:
      row.update(rounds=[row["ops_per_s"]], spread=0)
    heads, lines = titled(made)["All schemes with spreads, 0 ns more a drain"]
    self.assertEqual([line[heads.index("overwrite 1 KiB")] for line in lines],
                     ["500", "1,000"])

  def test_pages_of_old_results_have_current_marks(self):
    made = {**results(), "marks": [], "wrap_model": None}
    with tempfile.TemporaryDirectory() as folder:
      file = os.path.join(folder, "schemes.json")
      document = os.path.join(folder, "page.md")
      for path, text in ((file, json.dumps(made)), (
          document, "<!-- schemes.json: marks-rewind -->\n<!-- end -->\n")):
        with open(path, "w", encoding="utf-8") as out:
          out.write(text)
      self.assertEqual(report_of(file, folder), 0)
      self.assertEqual(paste_tables.main([file, document]), 0)
      for path in (os.path.join(folder, "schemes.md"), document):
        with open(path, encoding="utf-8") as page:
          self.assertIn("| REWIND fig. 6, as it is: checkpoints, batch: what",
                        page.read())

  def test_another_programs_rows_are_a_table(self):
    self.assertEqual(self.tables()["WrAP's timing model"],
                     (["what", "value"], [["a <row>", "2.50"]]))
    self.assertNotIn("Crashes through a cache model", self.tables())

  def test_another_programs_figures_are_tables(self):
    made = results()
    made["wrap_model"] = {"facts": {}, "figures": [
        {"figure": "5", "title": "Fig. 5", "tables": [
            {"title": "us", "columns": ["", "a"], "rows": [["one", 1234.5]]}],
         "marks": [{"name": "steps", "paper": "4", "here": "4",
                    "holds": True}]}]}
    tables = titled(made)
    self.assertEqual(tables["WrAP's timing model: Fig. 5, us"],
                     (["", "a"], [["one", "1,234"]]))
    self.assertEqual(tables["WrAP's timing model: marks"][1],
                     [["Fig. 5", "steps", "met", "4", "4"]])

  def test_a_figure_has_a_column_for_each_place(self):
    heads, lines = self.tables()["REWIND fig. 6: checkpoints (0: none), "
                                 "as it is, ns"]
    self.assertEqual(heads[1:], ["0", "500"])
    self.assertEqual(lines, [["rewind-1-noforce-batch", "10.0", "20.0"]])

  def test_a_figure_has_a_table_for_each_unit(self):
    made = results()
    made["points"] += [
        {**point("wrap-7", "wrap", x, value, measure), "low": value / 2}
        for measure, value in (("wraps a second, committed", 100),
                               ("wraps a second, retired", 50))
        for x in (0, 300)]
    made["points"] += [point("archapt-9", "archapt, overwrite", size, 7, what)
                       for size in (256, 1024) for what in ("lines", "drains")]
    tables = titled(made)
    self.assertEqual(
        tables["WrAP fig. 7: bursts, as it is, wraps a second, retired"],
        (["ns more a line and drain", "0", "300"],
         [["wrap", "50.0 (25.0 to 50.0)", "50.0 (25.0 to 50.0)"]]))
    # A figure with many measures has a line for each place.
    self.assertEqual(
        tables["Archapt fig. 9: lines a transaction, as it is"],
        (["", "bytes", "lines", "drains"],
         [["archapt, overwrite", "256", "7.00", "7.00"],
          ["archapt, overwrite", "1,024", "7.00", "7.00"]]))

  def test_a_sparse_figure_has_no_empty_columns(self):
    made = results()
    made["points"] += [
        point("archapt-7", "archapt, overwrite", 4096, 5, what)
        for what in ("transactions a second", "ns in the end")]
    made["points"].append(point("archapt-7", "archapt, ycsb-a", 1000, 6,
                                "transactions a second"))
    self.assertEqual(
        titled(made)["Archapt fig. 7: where there is more than the queue "
                     "holds, as it is"],
        (["", "bytes", "transactions a second", "ns in the end"],
         [["archapt, overwrite", "4,096", "5.00", "5.00"],
          ["archapt, ycsb-a", "1,000", "6.00", "-"]]))

  def test_large_figures_have_no_more_digits_than_small_ones(self):
    made = results()
    for p, high in zip(made["points"][-2:], (45_193_812.0, 38_968_512.0)):
      p.update(value=38_968_512.0, low=38_968_512.0, high=high)
    _, lines = titled(made)["REWIND fig. 6: checkpoints (0: none), as it is, "
                            "ns"]
    # A value that is the same in all rounds is a count.
    self.assertEqual(lines[0][1:], ["39,000,000 (39,000,000 to 45,200,000)",
                                    "38,968,512"])

  def test_a_plot_has_one_measure(self):
    made = results()
    made["points"].append(point("rewind-6", "rewind-1-noforce-batch", 500, 1e9,
                                "ns, all home"))
    made = {plot.name: plot for plot in schemes_view.report(made).plots()}
    plot = made["rewind-6-as-it-is"]
    self.assertEqual(plot.y_label, "ns")
    self.assertEqual(plot.series["rewind-1-noforce-batch"],
                     [(0, 10, 10, 10), (500, 20, 20, 20)])

  def test_a_plot_stands_before_its_tables(self):
    made = results()
    made["points"] += [point("wrap-8", "wrap", 0, 1, "p50 ns"),
                       {**point("wrap-8", "wrap", 600, 1, "p50 ns"),
                        "memory": "600 ns a line and drain"}]
    made["engine"].append({**made["engine"][2], "drain_ns": 500})
    titles = [part.title for part in schemes_view.report(made).parts]
    fig_6 = "REWIND fig. 6: checkpoints (0: none), as it is"
    fig_8 = "WrAP fig. 8: response to 20 stores"
    for plot, table in ((fig_6, f"{fig_6}, ns"),
                        (f"{fig_8}, p50", f"{fig_8}, as it is, p50 ns"),
                        ("overwrite 1 KiB",
                         "All schemes with spreads, 0 ns more a drain")):
      self.assertEqual(titles.index(plot) + 1, titles.index(table), titles)

  def test_the_number_for_never_is_shown_in_words(self):
    series = "a+checkpoint=1000000000"
    made = results()
    made["points"] += [point("rewind-7", series, x, 1) for x in (0, 1)]
    made["points"] += [point("wrap-6", series, 20, 1, "drains")]
    for table in (schemes_view.measures_table, schemes_view.places_table):
      _, lines = table(made["points"][-1:], "")
      self.assertEqual(lines[0][0], "a+no checkpoints of its own")
    made = schemes_view.report(made)
    for shown in (page.markdown(made, "schemes"), str(made.plots())):
      self.assertIn("a+no checkpoints of its own", shown)
    self.assertNotIn("1000000000", str(made.plots()))

  def test_a_measured_gib_needs_no_scaling_note(self):
    def heads(data):
      made = results()
      made["points"] += [point("data", "undo-own", data, 1.1 * data,
                               "bytes of persistent memory")]
      return doc_tables.price_table(made)[0]
    self.assertIn("persistent GiB for a GiB of data", heads(1_073_740_000.0))
    self.assertIn("persistent GiB for a GiB of data, by 64.0 MiB",
                  heads(64 << 20))

  def test_tables_are_pasted_into_their_places(self):
    page = ("before\n<!-- schemes.json: counts -->\nold\n<!-- end -->\n"
            "between\n<!-- schemes.json: speed -->\n<!-- end -->\nafter\n")
    self.assertEqual(doc_tables.places(page), ["counts", "speed"])
    pasted = doc_tables.paste(page, results())
    self.assertNotIn("old", pasted)
    self.assertIn("| undo-own | -, 2.00, - |", pasted)
    self.assertTrue(pasted.endswith("<!-- end -->\nafter\n"))
    # Again it comes to the same.
    self.assertEqual(doc_tables.paste(pasted, results()), pasted)
    with self.assertRaises(KeyError):
      doc_tables.paste(page.replace("counts", "no-such"), results())

  def test_the_documents_have_one_place_for_each_table(self):
    found = []
    for page in ("docs/use/schemes.md", "lab/docs/schemes.md"):
      with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        text = file.read()
      self.assertEqual(text.count("<!-- schemes.json:"),
                       len(doc_tables.places(text)), page)
      found += doc_tables.places(text)
    self.assertEqual(sorted(found), sorted(doc_tables.all_tables(results())))
    self.assertEqual(sorted(found),
                     sorted(name for name, _ in schemes_view.TITLES))

  def test_the_report_warns_of_rounds_with_a_wide_spread(self):
    made = results()
    self.assertEqual(list(schemes_view.warnings(made)), [])
    for row in made["engine"]:
      row["rounds"] = [row["ops_per_s"]] * 3
    self.assertEqual(list(schemes_view.warnings(made)), [])
    made["engine"][0]["spread"] = 2.0
    made["part_of_a_run"] = "--only=x"
    first, second, _ = schemes_view.warnings(made)
    self.assertIn("1 of 3 medians", first)
    self.assertIn("--only=x", second)
    self.assertIn("others' processors, mean and most",
                  dict(schemes_view.facts(made)))

  def test_text_fits_the_terminal(self):
    made = results()
    made["stores"] = ["archapt", "undo-own"]
    text = schemes_view.text(made)
    self.assertLess(max(map(len, text.splitlines())), 170)
    self.assertLess(len(text.splitlines()), 60)

  def test_stores_in_one_plot_have_different_styles(self):
    found = plots.styles(schemes.STORES)
    self.assertEqual(len(set(found.values())), len(schemes.STORES))


class FlagsTest(unittest.TestCase):

  def refused(self, *words):
    program = os.path.join(FOLDER, "schemes.py")
    done = subprocess.run([sys.executable, "-B", program, *words],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False)
    self.assertEqual(done.stdout, "")
    self.assertNotIn("Traceback", done.stderr)
    return done.returncode, done.stderr

  def test_bad_numbers_and_names_are_refused(self):
    for flag in ("--drains=abc", "--drains=-1", "--drains=0,0", "--rounds=0",
                 "--slice_ms=x", "--part_rounds=0", "--schemes= ",
                 "--schemes=a,,b", "--parts=nothing"):
      code, said = self.refused(flag)
      self.assertEqual(code, 2, flag)
      self.assertNotIn("lambda", said)
      self.assertIn(f"'{flag.split('=')[1].split(',,')[0]}", said)

  def test_bad_files_are_refused_before_measuring(self):
    with tempfile.TemporaryDirectory() as folder:
      def file(text):
        path = os.path.join(folder, "model.json")
        with open(path, "wb") as out:
          out.write(text)
        return path
      for text in (b"no json", b"\xff\xfe", b"[1, 2]", b'"x"', b'{"a": 1}',
                   b"[]", b'{"rows": 3}', b'{"figures": [{}]}'):
        for flag in ("--wrap_model", "--crash_model"):
          code, said = self.refused(f"{flag}={file(text)}")
          self.assertEqual(code, 1, (flag, text))
          self.assertIn("model.json", said)
      for flag in ("--wrap_model=/nowhere/at/all", "--out=/nowhere/at/all",
                   "--pages=/nowhere", "--folder=/nowhere", f"--out={folder}"):
        code, said = self.refused(flag)
        self.assertEqual(code, 1, flag)
        self.assertIn(flag.split("=")[1].replace("/at/all", ""), said)

  def test_a_partial_run_is_stored_apart_from_a_whole_one(self):
    with tempfile.TemporaryDirectory() as folder:
      def pages(*words):
        return schemes.pages_of(schemes.parse([f"--pages={folder}", *words]))
      for whole in ([], ["--quick"], ["--rounds=3"]):
        self.assertEqual(pages(*whole), folder)
      for part in ("--only=x", "--parts=figures", "--schemes=unsafe",
                   "--drains=0"):
        self.assertEqual(pages(part), os.path.join(folder, "partial"))

  def test_measured_results_are_kept_when_a_program_fails(self):
    with tempfile.TemporaryDirectory() as folder:
      out = os.path.join(folder, "schemes.json")
      settings = schemes.parse([f"--out={out}", "--schemes=unsafe"])
      with (unittest.mock.patch.object(schemes, "check", return_value={}),
            unittest.mock.patch.object(
                schemes.Bench, "run",
                side_effect=schemes.BenchError("it ended with 1")),
            contextlib.redirect_stderr(io.StringIO()) as said,
            self.assertRaises(schemes.BenchError)):
        schemes.run(settings)
      self.assertEqual(os.listdir(folder), ["schemes.json.unfinished"])
      self.assertIn(f"is in {out}.unfinished", said.getvalue())
      with open(f"{out}.unfinished", encoding="utf-8") as kept:
        self.assertEqual(json.load(kept)["stores"], ["unsafe"])

  def test_the_verdicts_of_a_model_are_among_the_marks(self):
    def verdicts(model):
      bench = schemes.Bench(schemes.parse([]), {"wrap_model": model})
      bench.judge()
      found = bench.results["marks"]
      self.assertGreater(len(found), 100)
      _, lines = doc_tables.all_tables(bench.results)["marks-wrap"]
      return [line[:3] for line in lines if "timing model" in line[0]]
    self.assertEqual(
        verdicts({"figures": [{"figure": "9", "title": "", "tables": [],
                               "marks": [{"name": "near", "paper": "it is",
                                          "here": "2.8", "holds": False}]}]}),
        [["WrAP's timing model, fig. 9: near", "not met", "2.8"]])
    self.assertEqual([line[1] for line in verdicts(None)], ["not measured"])

  def test_a_run_has_at_least_three_rounds(self):
    for words in ([], ["--quick"]):
      settings = schemes.parse(words)
      self.assertGreaterEqual(settings.rounds, 3)
      self.assertGreaterEqual(settings.part_rounds, 3)


class LoadTest(unittest.TestCase):

  def test_the_last_level_cache_is_that_of_the_highest_level(self):
    with tempfile.TemporaryDirectory() as folder:
      def index(number, level, size):
        path = os.path.join(folder, f"index{number}")
        os.mkdir(path)
        for name, text in (("level", level), ("size", size)):
          with open(os.path.join(path, name), "w", encoding="ascii") as file:
            file.write(text + "\n")
      self.assertIsNone(machine_load.last_level_cache(folder))
      index(0, "1", "32K")
      index(1, "3", "266240K")
      index(2, "2", "2M")
      index(3, "unknown", "9G")
      self.assertEqual(machine_load.last_level_cache(folder), 260 << 20)

  def test_foreign_load_is_the_remaining_processor_time(self):
    before = machine_load.processor_ticks("cpu 100 0 100 700 100 0 0 0 0 0\n")
    after = machine_load.processor_ticks("cpu 200 0 140 730 110 0 0 20 0 0\n")
    self.assertEqual(before, (1000, 800, 0))
    # 200 ticks, 40 idle, 20 stolen, 100 ours.
    load = machine_load.load_between(before, after, 100, 2)
    self.assertAlmostEqual(load["foreign_processors"], 0.4)
    self.assertAlmostEqual(load["steal"], 0.1)

  def test_the_drift_between_memory_speeds_is_computed(self):
    rows = [engine_row("cached", "overwrite-bytes", 64, rate, drain_ns)
            for drain_ns, rate in ((0, 100), (500, 110), (1000, 90))]
    rows += [engine_row("cached", "ycsb-a", 1000, rate, drain_ns)
             for drain_ns, rate in ((0, 100), (500, 250))]
    # Rows of one speed alone, and of a scheme that drains, do not count.
    rows += [engine_row("cached", "ycsb-b", 1000, 100),
             engine_row("undo-own", "ycsb-a", 1000, 5, 500)]
    self.assertEqual(schemes_view.between_speeds({"engine": rows}),
                     [0.2, 0.6])
    self.assertEqual(schemes_view.between_speeds({"engine": rows[-2:]}), [])

  def test_no_elapsed_time_is_no_load(self):
    self.assertEqual(machine_load.load_between((1, 1, 0), (1, 1, 0), 0, 2),
                     {"foreign_processors": 0.0, "steal": 0.0})

  def test_all_figures_are_selected_by_default(self):
    flags = schemes.figure_flags(schemes.parse(["--quick"]))
    self.assertIn("--quick", flags)
    self.assertFalse([f for f in flags if f.startswith("--only")])
    self.assertIn("--only=x", schemes.figure_flags(
        schemes.parse(["--only=x"])))


if __name__ == "__main__":
  unittest.main()
