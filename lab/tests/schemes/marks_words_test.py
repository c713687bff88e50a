"""bench-schemes: what is said of marks that no number comes of, and with how
many digits notes have theirs."""

import os
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.realpath(__file__)))))
sys.path.insert(0, os.path.join(ROOT, "lab", "schemes"))
# pylint: disable=wrong-import-position
import schemes_view
# After schemes_view, which adds the folder of the reports of benches.
import compared
import doc_tables
import judge
import marks
import page
import rivals_marks
from made_up_results import results
from marks_test import one, point, rewind, rivals


def crashes(inconsistent):
  return {"rows": [{"workload": "ycsb-d", "queue": 1, "crashes": 20,
                    "inconsistent": inconsistent, "found": inconsistent,
                    "repaired": 0, "lost": inconsistent, "wrong": 0,
                    "lost_needlessly": 0}]}


def judged(*points, **more):
  made = {**results(), "points": list(points), "engine": [],
          "wrap_model": None, **more}
  judge.judge(made)
  return made


def dirty(store, value):
  return [point("archapt-table-1", f"{store}, {workload}", 0, value, "part",
                marks.COUNTED)
          for workload in (*(f"ycsb-{letter}" for letter in "abdef"),
                           "tpcc-mix")]


# Marks of a whole run, 32 minutes on two processors. Marks of the timing model,
# which every run has, are in schemes_test.
NOT_MET = [
    *(f"REWIND {figure}, {memory}: {what}"
      for memory in ("150 ns a line", "as it is")
      for figure, what in (
          ("fig. 3 left", "two layers over one, 10 % stores"),
          ("fig. 5",
           "part recovered from which on force is less, 10 skips"),
          ("fig. 5",
           "part recovered from which on force is less, 300 skips"),
          ("fig. 11", "new orders, unsafe over rewind-1-noforce-batch, one "
           "tree both: the aim"),
          ("fig. 11", "new orders, unsafe over rewind-2-noforce-optimized, one "
           "tree both"),
          ("fig. 11", "new orders, unsafe over rewind-2-noforce-optimized, one "
           "tree both: the aim"))),
    *(f"REWIND fig. 6, as it is: checkpoints, {form}: what the most frequent "
      "cost, %" for form in ("simple", "batch")),
    *(f"REWIND fig. 10, transactions a tree's, {each} each: excess of a "
      "doubled group falls, least" for each in ("one operation",
                                                "32 operations")),
    *(f"WrAP fig. 13, 20 inserts into a tree, as it is: p50, {pair}"
      for pair in ("wrap over unsafe", "undo-each over wrap")),
    "WrAP fig. 8, 20 scattered words, as it is: p50, undo-each over wrap",
    "Archapt fig. 10: part of a flushed line that is new, archapt's less "
    "undo-own's, mean of YCSB and TPC-C, % points",
    "Archapt fig. 9, YCSB, 1000 B: lines less than undo-object's, least on E, "
    "without waits: E's less the least of others, % points",
    *(f"Archapt fig. 9, overwrite, 1024 B: lines less than undo-object's, "
      f"{who}, %" for who in ("each waited for", "without waits",
                              "without waits, all flushed in the end")),
    "Archapt fig. 7: part of the gap closed, 1024 B written whole",
    "Archapt: part of a transaction that checks and sums are, 1024 B, %",
    "Archapt table 4, ycsb-b: inconsistent objects of 100 crashes"]


class ReasonsTest(unittest.TestCase):

  def test_every_unmet_mark_has_a_reason(self):
    for name in NOT_MET:
      self.assertTrue(marks.reason_of(name), name)

  def test_only_unmet_marks_of_a_model_have_a_reason(self):
    def of(met):
      return rivals_marks.of_model({"facts": {"scale": "full"}, "figures": [{
          "figure": "12", "marks": [{
              "name": "all of it by WrAP is at least 2.5 times as fast as by "
                      "undo-grouped", "paper": "three", "here": "1.98",
              "holds": met}]}]})
    [found] = of(False)
    self.assertIn("a rival of ours", found["reason"])
    [found] = of(True)
    self.assertEqual(found["reason"], "")

  def test_an_unknown_reason_is_stated(self):
    def remark(**more):
      heads, [line] = doc_tables.marks_table([{
          **marks.mark("a", "", ">= 2", 1, lambda v: v >= 2), **more}])
      return line[heads.index("beside it")]
    self.assertEqual(remark(), "why is not known")
    self.assertEqual(remark(note="b"), "b; why is not known")
    self.assertEqual(remark(reason="it is slow"), "known reason: it is slow")
    for holds in (True, None, "", marks.DISTURBED, marks.UNJUDGED,
                  marks.UNDEFINED):
      self.assertEqual(remark(holds=holds), "")


class ComparedTest(unittest.TestCase):

  @staticmethod
  def lines(*marks_of_it):
    return compared.table(
        [marks.mark(name, paper, "", here, note=note)
         for name, paper, here, note in marks_of_it],
        doc_tables.here_with_rounds)[1]

  def test_values_of_one_figure_share_a_line(self):
    fig = "WrAP fig. 8, words, {}: p50, wrap over cached"
    self.assertEqual(self.lines(
        (fig.format("as it is"), "near", 1.5, "beside: 2 %"),
        ("WrAP fig. 14, 5 inserts: p50", "near", 3.0, ""),
        (fig.format("150 ns a line and drain"), "near", 2.5, "beside: 3 %"),
        ("WrAP fig. 14, 40 inserts: p50", "near", None, "slow")), [
            ["WrAP fig. 8, words: p50, wrap over cached", "near",
             "as it is: 1.50; 150 ns a line and drain: 2.50",
             "beside: 2 %; 3 %"],
            ["WrAP fig. 14: p50", "near", "5 inserts: 3.00; 40 inserts: -",
             "slow"]])

  def test_each_line_has_the_papers_figure(self):
    self.assertEqual(self.lines(
        ("Archapt table 4, ycsb-a: lost", "901", 7, "in 100: 7"),
        ("Archapt table 4, ycsb-e: lost", "1024", marks.UNDEFINED, "")), [
            ["Archapt table 4: lost", "901", "ycsb-a: 7.00", "in 100: 7"],
            ["Archapt table 4: lost", "1024", "ycsb-e: undefined", ""]])

  def test_a_name_is_split_into_figure_and_place(self):
    for name, what, where in (
        ("Archapt fig. 9, overwrite, zipfian, 1024 B: lines", "Archapt fig. 9: "
         "lines", "overwrite, zipfian, 1024 B"),
        ("Archapt fig. 7: throughput, ycsb-a", "Archapt fig. 7: throughput",
         "ycsb-a"),
        ("Archapt fig. 7: throughput, 1024 B in the cache", "Archapt fig. 7: "
         "throughput", "1024 B in the cache"),
        ("REWIND fig. 10, transactions of 320 words each: optimized, 1000 ns "
         "more a drain, slower by",) * 2 + ("",)):
      self.assertEqual(compared.split(name), (what, where))

  def test_pages_contain_the_compared_marks(self):
    made = judged(*(point("archapt-3", f"ycsb-{letter}", x, 0.25, "part",
                          marks.COUNTED)
                    for letter in "abdef" for x in (0, 1, 2)))
    made["marks"] = [m for m in made["marks"] if m["here"] is not None]
    pasted = doc_tables.paste("<!-- schemes.json: compared-archapt -->\n"
                              "<!-- end -->\n", made)
    self.assertIn("| Archapt fig. 3: objects used twice at most, % | 78 | "
                  "ycsb-a: 75.0; ycsb-b: 75.0; ycsb-d: 75.0; ycsb-f: 75.0 |  |",
                  pasted)
    self.assertIn("ycsb-e: 50.0 |", pasted)
    self.assertIn("twice at most, % | 78 |", page.markdown(
        schemes_view.report(made), "schemes"))


class UndefinedTest(unittest.TestCase):

  def test_a_ratio_to_zero_is_undefined(self):
    self.assertEqual(marks.ratio(1, 0), marks.UNDEFINED)
    self.assertEqual(marks.less(1, 0), marks.UNDEFINED)
    self.assertEqual(marks.percent(marks.less(1, 0)), marks.UNDEFINED)
    self.assertEqual(marks.mean([1, marks.UNDEFINED]), marks.UNDEFINED)
    self.assertEqual(marks.ratio(marks.UNDEFINED, 2), marks.UNDEFINED)
    for found in (marks.ratio(None, 0), marks.ratio(1, None),
                  marks.less(None, 1), marks.percent(None), marks.mean([]),
                  marks.mean([1, None, marks.UNDEFINED])):
      self.assertIsNone(found)

  def test_an_undefined_mark_has_its_own_verdict(self):
    found = one(rivals(crash_model=crashes(0)),
                "Archapt table 4: of these found")
    self.assertEqual(found["here"], marks.UNDEFINED)
    self.assertEqual(found["holds"], marks.UNDEFINED)
    self.assertEqual(found["note"], "no object was inconsistent")
    # A figure without a mark has no verdict.
    found = one(rivals(crash_model=crashes(0)),
                "Archapt table 4: of these repaired")
    self.assertEqual((found["here"], found["holds"]), (marks.UNDEFINED, ""))
    found = one(rivals(crash_model=crashes(3)),
                "Archapt table 4: of these found")
    self.assertEqual((found["here"], found["holds"], found["note"]),
                     (100, True, ""))
    found = one(rivals(), "Archapt table 4: of these found")
    self.assertEqual((found["here"], found["holds"], found["note"]),
                     (None, None, ""))

  def test_an_undefined_round_prevents_a_verdict(self):
    def of(here):
      return marks.mark("a", "", ">= 1", here, lambda v: v >= 1)
    for rounds, holds in (((2, 2, 2), True),
                          ((2, 2, marks.UNDEFINED), marks.DISTURBED)):
      found = marks.settle([of(2)], [[of(r)] for r in rounds])[0]
      self.assertEqual(found["holds"], holds)
      self.assertEqual(found["rounds"], 3)

  def test_a_partial_run_keeps_undefined_marks(self):
    made = judged(crash_model=crashes(0), part_of_a_run="--parts=crashes")
    found = one(made["marks"], "Archapt table 4: of these found")
    self.assertEqual(found["holds"], marks.UNDEFINED)
    tables = {title: table
              for title, table, _ in schemes_view.tables(made)}
    lines = {line[0]: line[1:3] for line in tables["Archapt's marks"][1]}
    self.assertEqual(lines["Archapt table 4: of these found, %"],
                     ["undefined", "undefined"])
    self.assertIn("0 disturbed, 1 undefined; ", schemes_view.text(made))
    self.assertNotIn("not measured", schemes_view.text(made))

  def test_the_persisting_share_of_a_faster_store_is_undefined(self):
    def time(series, value):
      return point("archapt-1-2", series, 64, value, "ns",
                   "as it is, libpmem watched")
    points = [time("undo-object", 90), time("cached", 100),
              time("undo-object, nothing flushed", 80)]
    name = "Archapt fig. 2, 64 B"
    found = one(rivals(*points), name)
    self.assertEqual(found["here"], marks.UNDEFINED)
    self.assertIn("no more than cached", found["note"])
    self.assertIsNone(one(rivals(*points[1:]), name)["here"])

  def test_zero_dirtiness_has_no_ratio(self):
    found = one(rivals(*dirty("undo-own", 0), *dirty("archapt", 0.5)),
                "Archapt fig. 10")
    self.assertAlmostEqual(found["here"], 50)
    self.assertEqual(found["note"], "in proportion undefined % more")

  def test_a_crossing_with_an_unmeasured_line_is_unknown(self):
    def line(figure, series):
      return [point(figure, series, x, x) for x in (100, 1000)]
    two = line("rewind-3-right", "rewind-2-force-optimized+alone")
    printed = line("rewind-3-right", "rewind-1-force-optimized+scans,alone")
    name = "REWIND fig. 3 right, as it is: commits, one layer that looks"
    for alone in (two, printed):
      self.assertIsNone(one(rewind(*alone), name)["here"])
    self.assertEqual(one(rewind(*two, *printed), name)["here"], marks.NOWHERE)
    free = line("rewind-5", "rewind-1-noforce-optimized+alone, 10 skips")
    self.assertIsNone(one(rewind(*free), "REWIND fig. 5, as it is: part "
                          "recovered from which on force is less, 10 skips")
                      ["here"])


class DigitsTest(unittest.TestCase):

  def test_values_have_no_more_digits_than_tables(self):
    for value, text in ((0.52541, "0.525"), (18.587, "18.6"), (212.51, "213"),
                        (-0.0070591, "-0.00706"), (4100.0, "4,100"),
                        (19602, "19,602"), (12345.6, "12,300"), (0, "0"),
                        (None, "not measured"),
                        (marks.UNDEFINED, "undefined")):
      self.assertEqual(marks.written(value), text)

  def test_values_have_no_more_digits_than_rounds_support(self):
    for value, rounds, text in (
        (2.123, (1.9, 2.123, 2.4), "2.1"), (2.123, (2.1, 2.123, 2.14), "2.12"),
        (18.59, (15, 18.59, 20), "19"), (212.5, (190, 212.5, 260), "210"),
        (10.29, (10.2, 10.29, 10.3), "10.3"), (3, (2.4, 3, 3.6), "3.0"),
        # The first digit stays, however little it says.
        (6.1, (-90, 6.1, 90), "6"), (0.061, (-9, 0.061, 9), "0.06"),
        (5.5, (5.5, 5.5, 5.5), "5.50")):
      self.assertEqual(marks.written(value, rounds), text)

  def test_percentages_have_tenths_at_most(self):
    for value, text in ((-0.0070591, "0.0"), (-10.781, "-10.8"), (8.11, "8.1"),
                        (101.26, "101")):
      self.assertEqual(marks.written(value, places=1), text)

  def test_digits_of_a_note_depend_on_its_rounds(self):
    def of(value):
      return marks.mark("a", "", "", 1, None,
                        marks.Note("x {}, y {}", value, marks.UNDEFINED))
    self.assertEqual(of(2.1234)["note"], "x 2.12, y undefined")
    found = marks.settle([of(2.1234)], [[of(v)] for v in (1.8, 2.1234, 2.4)])
    self.assertEqual(found[0]["note"], "x 2.1, y undefined")
    # A note that has no values in the rounds.
    found = marks.settle([of(2.1234)], [[of(None)]] * 3)
    self.assertEqual(found[0]["note"], "x 2.12, y undefined")
    found = marks.settle([of(2.1234)], [])
    self.assertEqual(found[0]["note"], "x 2.12, y undefined")

  def test_notes_of_a_run_have_the_digits_of_its_rounds(self):
    def rate(store, *rounds):
      return {**point("rewind-11", f"{store}, one tree", 0, sorted(rounds)[1],
                      "new orders a minute"), "rounds": list(rounds)}
    name = ("REWIND fig. 11, as it is: new orders, unsafe over "
            "rewind-1-noforce-batch, one tree both: ")
    made = judged(rate("unsafe", 800, 800, 800),
                  rate("unsafe-each", 500, 412, 300),
                  rate("rewind-1-noforce-batch", 100, 100, 100))
    found = next(m for m in made["marks"] if m["name"] == name[:-2])
    self.assertEqual(found["note"], "unsafe-each over it: 4.1")


if __name__ == "__main__":
  unittest.main()
