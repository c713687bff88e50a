"""bench-schemes: marks of measurements that are made up."""

import os
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.realpath(__file__)))))
sys.path.insert(0, os.path.join(ROOT, "lab", "schemes"))
# pylint: disable=wrong-import-position
import judge
import marks
import rewind_marks
import rivals_marks


def point(figure, series, x, value, measure="ns", memory="as it is"):
  return {"figure": figure, "series": series, "memory": memory,
          "measure": measure, "x": x, "value": value, "low": value,
          "high": value}


def one(found, begin):
  chosen = [m for m in found if m["name"].startswith(begin)]
  assert len(chosen) == 1, (begin, [m["name"] for m in chosen])
  return chosen[0]


def rewind(*points):
  return rewind_marks.of(marks.Points(points))


def rivals(*points, engine=(), crash_model=None):
  return rivals_marks.of(marks.Points(points), engine, crash_model)


class CrossingTest(unittest.TestCase):

  def test_a_crossing_lies_between_the_points(self):
    line = [(100, 10), (200, 30)]
    self.assertAlmostEqual(marks.crossing(line, [(100, 20), (200, 20)]), 150)

  def test_lines_that_do_not_cross_have_no_crossing(self):
    line = [(100, 10), (200, 30)]
    self.assertIsNone(marks.crossing(line, [(100, 20), (200, 40)]))
    self.assertIsNone(marks.crossing([], []))

  def test_an_unseen_crossing_is_described(self):
    line, other = [(1, 5), (2, 6)], [(1, 4), (2, 4)]
    self.assertIsNone(marks.crossing(line, other))
    self.assertEqual(marks.uncrossed("it", line, other),
                     "it takes more everywhere: no crossing was seen, from 1 "
                     "to 2")
    self.assertEqual(marks.uncrossed("it", other, line),
                     "it takes less everywhere, from 1 to 2")

  def test_the_crossing_is_where_the_line_stays_above(self):
    level = [(x, 5) for x in range(5)]
    line = [(0, 4), (1, 7), (2, 4), (3, 6), (4, 7)]
    self.assertAlmostEqual(marks.crossing(line, level), 2.5)
    self.assertEqual(marks.uncrossed("it", line, level), "")
    # The line falls back below.
    line = [(0, 4), (1, 7), (4, 4)]
    self.assertIsNone(marks.crossing(line, level))
    self.assertEqual(marks.uncrossed("it", line, level),
                     "it takes less in the end, from 0 to 4")

  def test_the_crossing_uses_only_common_places(self):
    self.assertAlmostEqual(
        marks.crossing([(1, 0), (2, 4), (3, 8)], [(2, 6), (3, 6)]), 2.5)


class RewindTest(unittest.TestCase):

  def test_an_unmeasured_mark_has_no_verdict(self):
    for found in rewind() + rivals():
      self.assertIn(found["holds"], (None,), found["name"])
      self.assertIsNone(found["here"])

  def test_logging_is_compared_with_unlogged_stores(self):
    def at(layers, policy, value):
      return [point("rewind-3-left", f"rewind-{layers}-{policy}-optimized"
                    "+alone", part, value + more, "ns an update" + home)
              for part in (0.1, 1.0)
              for more, home in ((0, ""), (20, ", all home"))]
    bare = [point("rewind-3-left", "unsafe-each", x, 100) for x in (0.1, 1.0)]
    found = rewind(*bare, *at(1, "noforce", 149), *at(2, "noforce", 500),
                   *at(1, "force", 160), *at(2, "force", 600))
    name = ("REWIND fig. 3 left, as it is: one layer over unsafe-each, 10 % "
            "stores, its data ")
    one_layer = one(found, name + "still in the cache")
    self.assertAlmostEqual(one_layer["here"], 1.49)
    self.assertIs(one_layer["holds"], True)
    # Flushing what was put off has a cost.
    one_layer = one(found, name + "brought home")
    self.assertAlmostEqual(one_layer["here"], 1.69)
    self.assertIs(one_layer["holds"], False)
    self.assertIs(one(found, "REWIND fig. 3 left, as it is: two layers over "
                      "one")["holds"], False)
    self.assertEqual(one(found, "REWIND fig. 3 left, as it is: two layers "
                         "over unsafe-each")["holds"], "")

  def test_the_crossing_is_that_of_the_form_that_scans_the_log(self):
    def line(figure, series, *values):
      return [point(figure, series, x, v)
              for x, v in zip((100, 500, 1000), values)]
    found = rewind(
        *line("rewind-3-right", "rewind-1-force-optimized+scans,alone", 1, 5,
              9),
        *line("rewind-3-right", "rewind-1-force-optimized+alone", 1, 1, 1),
        *line("rewind-3-right", "rewind-2-force-optimized+alone", 7, 7, 7))
    crossing = one(found, "REWIND fig. 3 right, as it is: commits, one layer "
                   "that looks")
    self.assertAlmostEqual(crossing["here"], 750)
    self.assertIs(crossing["holds"], True)
    kept = "REWIND fig. 3 right, as it is: commits, one layer that remembers"
    self.assertIs(one(found, kept)["holds"], True)

  def test_an_unseen_crossing_is_nowhere(self):
    # As the quick scale has it: two places.
    def line(series, *values):
      return [point("rewind-3-right", series, x, v)
              for x, v in zip((100, 1000), values)]
    found = one(rewind(
        *line("rewind-1-force-optimized+scans,alone", 8, 9),
        *line("rewind-2-force-optimized+alone", 7, 7)),
        "REWIND fig. 3 right, as it is: commits, one layer that looks")
    self.assertEqual(found["here"], marks.NOWHERE)
    self.assertIs(found["holds"], False)
    self.assertIn("no crossing was seen", found["note"])

  def checkpoints(self, **costs):
    """Marks of what 0, 500, 1,000 and 10,000 records apart take."""
    points = []
    for form, values in costs.items():
      series = f"rewind-1-noforce-{form}+alone,checkpoint=1000000000"
      points += [{**point("rewind-6", series, x, 100 + v),
                  "rounds": [100 + v - wide, 100 + v, 100 + v + wide]}
                 for x, (v, wide) in zip((0, 500, 1000, 10000),
                                         [(0, 0), *values])]
    found = rewind(*points)
    return ([one(found, f"REWIND fig. 6, as it is: checkpoints, {form}")
             for form in costs],
            one(found, "REWIND fig. 6, as it is: checkpoints, the forms'"))

  def test_the_checkpoint_cost_falls_at_all_places(self):
    falls, between, noise = self.checkpoints(
        simple=((80, 0), (70, 0), (60, 0)),
        # Falls from the first place to the last.
        optimized=((30, 0), (45, 0), (10, 0)),
        batch=((20, 5), (23, 5), (3, 5)))[0]
    self.assertAlmostEqual(falls["here"], 80)
    self.assertIs(falls["holds"], True)
    self.assertIn("70, 60", falls["note"])
    self.assertIs(between["holds"], False)
    self.assertIs(noise["holds"], True)
    rises, flat, once = self.checkpoints(
        simple=((60, 9), (61, 9), (62, 9)), optimized=((30, 0),) * 3,
        batch=((20, 0),))[0]
    for found in (rises, flat, once):
      self.assertIs(found["holds"], False)

  def test_the_order_of_forms_holds_at_all_places(self):
    def order(batch):
      return self.checkpoints(simple=((80, 0), (70, 0), (60, 0)),
                              optimized=((32, 0), (20, 0), (9, 0)),
                              batch=[(v, 0) for v in batch])[1]
    met = order((20, 10, 3))
    self.assertAlmostEqual(met["here"], 6)
    self.assertIs(met["holds"], True)
    for batch in ((20, 10, 11), (20, 21, 3), (33, 10, 3)):
      self.assertIs(order(batch)["holds"], False, batch)
    # Batches without a cost have an order, too.
    self.assertIs(order((-2, -3, -9))["holds"], True)

  def test_new_orders_are_compared_with_the_rival_that_flushes_once(self):
    def rate(store, value, layout="one tree"):
      return point("rewind-11", f"{store}, {layout}", 0, value,
                   "new orders a minute")
    found = rewind(rate("unsafe", 800), rate("unsafe-each", 500),
                   rate("rewind-1-noforce-batch", 100),
                   rate("rewind-1-noforce-optimized", 600),
                   rate("rewind-2-noforce-optimized", 50))
    name = ("REWIND fig. 11, as it is: new orders, unsafe over rewind-{}, one "
            "tree both")
    def marks_of(store):
      return [m for m in found if m["name"].startswith(name.format(store))]
    for store, ratio, verdicts in (
        ("1-noforce-batch", 8, [False, False]),
        ("1-noforce-optimized", 4 / 3, [True, True]),
        ("2-noforce-optimized", 16, [False, False])):
      self.assertEqual([m["holds"] for m in marks_of(store)], verdicts)
      self.assertEqual([m["target"] for m in marks_of(store)],
                       ["< 7.37", "<= 1.39"])
      self.assertAlmostEqual(marks_of(store)[0]["here"], ratio)
    self.assertIn("unsafe-each over it: 5",
                  marks_of("1-noforce-batch")[0]["note"])

  def test_the_excess_falls_with_the_group(self):
    points = []
    long = "alone,checkpoint=1000000000"
    for series, slowed in ((f"rewind-1-noforce-optimized+{long}", 500),
                           (f"rewind-1-noforce-batch+group=8,{long}", 180),
                           (f"rewind-1-noforce-batch+group=16,{long}", 140),
                           (f"rewind-1-noforce-batch+group=32,{long}", 125)):
      points += [point("rewind-10-words", series, x, v)
                 for x, v in ((0, 100), (1000, slowed))]
    falls = one(rewind(*points), "REWIND fig. 10, transactions of 320 words "
                "each: excess")
    self.assertAlmostEqual(falls["here"], 40 / 25)
    self.assertIs(falls["holds"], False)
    # A group that is not slowed down at all was disturbed, so it has no
    # verdict.
    points[-1]["value"] = 99
    falls = one(rewind(*points), "REWIND fig. 10, transactions of 320 words "
                "each: excess")
    self.assertEqual(falls["here"], marks.UNDEFINED)
    self.assertEqual(falls["holds"], marks.UNDEFINED)
    self.assertEqual(falls["note"], "a group is not slowed down")

  def test_measured_lines_that_do_not_cross_fail_the_mark(self):
    points = [point("rewind-5", f"rewind-1-{policy}-optimized+{more}, 10 skips",
                    part, value)
              for policy, more, value in (("noforce", "alone", 1),
                                          ("force", "keeps,alone", 2))
              for part in (0, 1)]
    found = one(rewind(*points), "REWIND fig. 5, as it is: part recovered from "
                "which on force is less, 10 skips")
    self.assertEqual(found["here"], marks.NOWHERE)
    self.assertIs(found["holds"], False)
    self.assertIn("no force takes less", found["note"])


class SettleTest(unittest.TestCase):

  def settled(self, holds, value, *rounds):
    def of(here):
      return marks.mark("a", "", "<= 1", here, holds)
    return marks.settle([of(value)], [[of(r)] for r in rounds])[0]

  def test_close_rounds_have_a_verdict(self):
    found = self.settled(lambda v: v <= 1, 0.7, 0.6, 0.7, 0.8)
    self.assertIs(found["holds"], True)
    self.assertEqual((found["low"], found["high"]), (0.6, 0.8))
    self.assertNotIn("test", found)

  def test_rounds_with_a_wide_spread_have_no_verdict(self):
    for rounds in ((0.6, 0.9, 0.95), (0.8, 0.9, 1.2)):
      found = self.settled(lambda v: v <= 1, 0.9, *rounds)
      self.assertEqual(found["holds"], marks.DISTURBED, rounds)
      self.assertEqual(found["reason"], "")

  def test_one_of_five_rounds_may_be_disturbed(self):
    low = (0.70, 0.71, 0.72, 0.73)
    self.assertIs(self.settled(lambda v: v <= 1, 0.72, *low, 9)["holds"], True)
    self.assertEqual(self.settled(lambda v: v <= 1, 0.72, *low[1:], 8, 9)
                     ["holds"], marks.DISTURBED)

  def test_rounds_that_disagree_have_no_verdict(self):
    verdicts = iter([True, True, False, True])
    def holds(value, found={}):  # pylint: disable=dangerous-default-value
      if value not in found:
        found[value] = next(verdicts, True)
      return found[value]
    found = self.settled(holds, 1, 1.0, 5, 3)
    self.assertEqual(found["holds"], marks.DISTURBED)

  def test_fewer_than_three_rounds_have_no_verdict(self):
    for value in (0.7, 1.7):
      for rounds in ((value,), (value, value)):
        found = self.settled(lambda v: v <= 1, value, *rounds)
        self.assertEqual(found["holds"], marks.UNJUDGED)
        self.assertEqual(found["rounds"], len(rounds))
        self.assertEqual(found["reason"], "")
      found = self.settled(lambda v: v <= 1, value, value, value, value)
      self.assertIs(found["holds"], value < 1)
      self.assertEqual(found["rounds"], 3)
    # The known reason of a mark that is not met is not given for one without a
    # verdict.
    found = [marks.mark("WrAP fig. 13", "", "<= 1", 2, lambda v: v <= 1)]
    for rounds, known in ((2, False), (3, True)):
      settled = marks.settle([dict(found[0])], [found] * rounds)[0]
      self.assertEqual(bool(settled["reason"]), known)
    # Such a mark is not called disturbed either.
    self.assertEqual(self.settled(lambda v: v <= 1, 0.7, 0.1, 9)["holds"],
                     marks.UNJUDGED)

  def test_a_counted_mark_needs_no_rounds(self):
    found = [marks.mark("a", "", "100", 100, lambda v: v == 100)]
    settled = marks.settle(found, [found] * 3, counted=found)[0]
    self.assertIs(settled["holds"], True)
    self.assertIsNone(settled["low"])
    self.assertEqual(settled["rounds"], 0)

  def judged(self, *points):
    results = {"facts": {}, "points": list(points), "engine": [],
               "crash_model": None, "wrap_model": None}
    judge.judge(results)
    return results["marks"]

  def test_only_timed_points_count_as_rounds(self):
    def p50(store, value, rounds):
      return {**point("wrap-8", store, 0, value, "p50 ns"),
              "rounds": [value] * rounds}
    drains = {**point("wrap-6", "wrap", 20, 100, "drains", marks.COUNTED),
              "rounds": [100]}
    for rounds, holds in ((1, marks.UNJUDGED), (2, marks.UNJUDGED),
                          (3, True)):
      found = self.judged(p50("wrap", 90, rounds), p50("unsafe", 100, rounds),
                          # Others' rounds are not its own.
                          p50("undo-each", 300, 5), drains)
      timed = one(found, "WrAP fig. 8, 20 scattered words, as it is: p50, wrap "
                  "over unsafe")
      self.assertEqual((timed["holds"], timed["rounds"]), (holds, rounds))
      count = one(found, "WrAP fig. 6: drains of 100 wraps, wrap")
      self.assertEqual((count["holds"], count["rounds"]), (True, 0))
    alone = one(self.judged(drains), "WrAP fig. 6: drains of 100 wraps, wrap")
    self.assertIs(alone["holds"], True)

  def test_a_ratio_uses_values_of_the_same_round(self):
    def p50(store, *rounds):
      return {**point("wrap-8", store, 0, sorted(rounds)[1], "p50 ns"),
              "rounds": rounds}
    points = [p50("wrap", 90, 900, 95), p50("unsafe", 100, 1000, 105)]
    self.assertEqual(marks.Points.turns(points), 3)
    found = marks.settle(
        rivals(*points),
        [rivals_marks.of(marks.Points(points, turn), ()) for turn in range(3)])
    ours = one(found, "WrAP fig. 8, 20 scattered words, as it is: p50, wrap "
               "over unsafe")
    # All were slow once, and alike.
    self.assertIs(ours["holds"], True)
    self.assertAlmostEqual(ours["low"], 0.9)


  def test_an_impossible_value_counts_as_disturbed(self):
    def settled(value, *rounds):
      def of(here):
        return marks.mark("a", "", "< 5", here, lambda v: v < 5, least=-1)
      return marks.settle([of(value)], [[of(r)] for r in rounds])[0]
    # Work that is added has not made it less.
    found = settled(-9.3, -9.5, -9.3, -9.1)
    self.assertEqual(found["holds"], marks.DISTURBED)
    self.assertNotIn("least", found)
    self.assertIs(settled(-0.5, -0.6, -0.5, -0.4)["holds"], True)
    self.assertIs(settled(6, 6, 6, 6)["holds"], False)


class PointsTest(unittest.TestCase):

  def test_a_store_is_found_by_name_without_alpha(self):
    points = marks.Points([point("durable", "kamino-dynamic@0.5", 1, 7)])
    self.assertEqual(points.value("durable", "kamino-dynamic"), 7)
    self.assertIsNone(points.value("durable", "kamino"))

  def test_a_line_has_one_measure(self):
    points = marks.Points([point("f", "s", 1, 10), point("f", "s", 2, 20),
                           point("f", "s", 1, 15, "ns, all home")])
    self.assertEqual(points.line("f", "s", "as it is"), [(1, 10), (2, 20)])
    self.assertEqual(points.line("f", "s", "as it is", "ns, all home"),
                     [(1, 15)])


class RivalsTest(unittest.TestCase):

  def test_wraps_are_counted(self):
    found = rivals(point("wrap-6", "wrap", 20, 100, "drains"),
                   point("wrap-6", "wrap", 20, 601, "lines"),
                   point("wrap-6", "wrap", 20, 2000, "lines beside"),
                   point("wrap-6", "undo-each", 20, 4100, "drains"),
                   point("wrap-6", "undo-own", 20, 2200, "drains"))
    self.assertIs(one(found, "WrAP fig. 6: drains of 100")["holds"], True)
    self.assertIs(one(found, "WrAP fig. 6: log lines")["holds"], False)
    self.assertIs(one(found, "WrAP fig. 6: lines home")["holds"], True)
    undo = one(found, "WrAP fig. 6: drains, undo-each")
    self.assertIs(undo["holds"], True)
    self.assertIn("2,200", undo["note"])

  def test_a_weak_rival_is_shown_beside_the_strong_one(self):
    points = [point("wrap-8", store, 0, value, "p50 ns")
              for store, value in (("wrap", 1000), ("unsafe", 900),
                                   ("undo-each", 3000), ("undo-own", 1500))]
    found = rivals(*points)
    self.assertIs(one(found, "WrAP fig. 8, 20 scattered words, as it is: p50, "
                      "wrap over unsafe")["holds"], False)
    each = one(found, "WrAP fig. 8, 20 scattered words, as it is: p50, "
               "undo-each")
    self.assertAlmostEqual(each["here"], 3)
    own = one(found, "WrAP fig. 8, 20 scattered words, as it is: p50, undo-own "
              "over")
    self.assertAlmostEqual(own["here"], 1.5)
    self.assertEqual(own["holds"], "")

  def test_the_gap_is_measured_against_the_rival(self):
    def rate(store, value):
      return point("archapt-7", f"{store}, overwrite", 1024, value,
                   "transactions a second")
    name = "Archapt fig. 7: part of the gap closed, 1024 B"
    rates = [rate("archapt", 130), rate("undo-object", 100),
             rate("unsafe", 160), rate("undo-own", 100)]
    found = one(rivals(*rates), name)
    self.assertAlmostEqual(found["here"], 0.5)
    self.assertIs(found["holds"], True)
    self.assertIn("1.3", found["note"])
    # A rival that is ahead of the limit has no gap.
    rates[2]["value"] = 90
    found = one(rivals(*rates), name)
    self.assertEqual(found["holds"], marks.UNDEFINED)
    self.assertIn("unsafe is not ahead of undo-object", found["note"])
    # One that was not measured is another thing.
    found = one(rivals(*rates[1:]), name)
    self.assertIsNone(found["here"])
    self.assertIsNone(found["holds"])
    self.assertNotIn("ahead", found["note"])

  def test_checking_is_a_share_of_the_time(self):
    found = rivals(point("archapt-sums", "archapt", 64, 5.5,
                         "% of the time by checking"),
                   point("archapt-sums", "archapt", 1024, 4.5,
                         "% of the time by checking"))
    name = "Archapt: part of a transaction that checks and sums are, "
    self.assertIs(one(found, name + "64 B")["holds"], False)
    self.assertIs(one(found, name + "1024 B")["holds"], True)
    self.assertIsNone(one(found, name + "4096 B")["holds"])

  def test_lines_are_compared_for_the_same_work(self):
    found = rivals(
        point("archapt-9", "archapt, overwrite", 1024, 24, "lines"),
        point("archapt-9", "archapt, overwrite", 1024, 30,
              "lines with what was left"),
        point("durable", "archapt", 1024, 40, "lines, each waited for"),
        point("archapt-9", "undo-object, overwrite", 1024, 40, "lines"),
        point("archapt-9", "undo-object, overwrite", 4096, 400, "lines"))
    name = "Archapt fig. 9, overwrite, {} B: lines less than undo-object's, "
    for who, here, holds in (("without waits, %", 40, True),
                             ("without waits, all flushed in the end, %", 25,
                              False),
                             ("each waited for, %", 0, False)):
      found_one = one(found, name.format(1024) + who)
      self.assertAlmostEqual(found_one["here"], here)
      self.assertIs(found_one["holds"], holds)
    self.assertIsNone(
        one(found, name.format(4096) + "without waits, %")["here"])

  def test_a_negative_cost_counts_as_disturbed(self):
    found = rivals(point("archapt-sums", "archapt", 64, -9.3,
                         "% of the time by checking"))
    name = "Archapt: part of a transaction that checks and sums are, 64 B"
    self.assertIs(one(found, name)["holds"], True)
    self.assertEqual(one(marks.settle(found, [found] * 3), name)["holds"],
                     marks.DISTURBED)

  def ycsb(self, **lines):
    """Marks of lines of `archapt` where undo-object's are 100."""
    points = []
    for letter, line in lines.items():
      for store, value in (("archapt", line), ("undo-object", 100),
                           ("undo-own", 50)):
        points += [point("archapt-9", f"{store}, ycsb-{letter}", 1000, value,
                         measure)
                   for measure in ("lines", "lines with what was left")]
    found = rivals(*points)
    name = "Archapt fig. 9, YCSB, 1000 B: lines less than undo-object's, "
    return (one(found, name + "mean, without waits, %"),
            one(found, name + "least on E, without waits: "))

  def test_figure_9_is_summed_up(self):
    mean, least = self.ycsb(a=20, b=20, d=20, e=60, f=20)
    self.assertAlmostEqual(mean["here"], 72)
    self.assertIs(mean["holds"], True)
    self.assertIn("undo-own's, which logs what is written and no more: 44 %",
                  mean["note"])
    self.assertAlmostEqual(least["here"], -40)
    self.assertIs(least["holds"], True)
    self.assertIn("D 80, E 40", least["note"])
    mean, least = self.ycsb(a=40, b=40, d=41, e=40, f=40)
    self.assertIs(mean["holds"], False)
    self.assertIs(least["holds"], False)
    # A mean of some is none.
    for found in self.ycsb(a=1, b=1, d=1, f=1):
      self.assertIsNone(found["holds"])

  def test_dirtiness_is_compared_in_points(self):
    def dirtiness(store, value):
      return [point("archapt-table-1", f"{store}, {workload}", 0, value)
              for workload in ("ycsb-a", "ycsb-b", "ycsb-d", "ycsb-e",
                               "ycsb-f", "tpcc-mix")]
    name = "Archapt fig. 10"
    found = one(rivals(*dirtiness("undo-own", 0.4), *dirtiness("archapt", 0.5)),
                name)
    self.assertAlmostEqual(found["here"], 10)
    self.assertIs(found["holds"], False)
    self.assertIn("25 % more", found["note"])
    self.assertIs(one(rivals(*dirtiness("undo-own", 0.4),
                             *dirtiness("archapt", 0.53)), name)["holds"], True)

  def test_a_model_has_its_own_verdicts(self):
    model = {"facts": {"scale": "full"}, "figures": [
        {"figure": "9", "title": "response", "tables": [], "marks": [
            {"name": "equal", "paper": "it is", "here": "1.08", "holds": True},
            {"name": "near", "paper": "it is", "here": "2.8", "holds": False}]},
        {"figure": "forms", "title": "both", "tables": [], "marks": [
            {"name": "same", "paper": "-", "here": "7", "holds": True}]}]}
    found = list(rivals_marks.of_model(model))
    self.assertEqual(
        [(m["name"], m["here"], m["holds"]) for m in found],
        [("WrAP's timing model, fig. 9: equal", "1.08", True),
         ("WrAP's timing model, fig. 9: near", "2.8", False),
         ("WrAP's timing model, forms: same", "7", True)])
    self.assertEqual(found[0]["note"], "")
    model["facts"]["scale"] = "quick"
    self.assertEqual(next(rivals_marks.of_model(model))["note"],
                     "scale: quick")
    for none in (None, {"rows": [{"a": 1}]}, [{"a": 1}]):
      found = list(rivals_marks.of_model(none))
      self.assertEqual([m["holds"] for m in found], [None], none)
      self.assertTrue(found[0]["note"])

  def test_no_loss_is_allowed_where_the_paper_has_none(self):
    rows = [{"workload": f"ycsb-{letter}", "queue": 1, "crashes": 100,
             "inconsistent": n, "found": n, "repaired": n, "lost": 0,
             "wrong": 0, "lost_needlessly": 0}
            for letter, n in (("a", 901), ("b", 3), ("d", 0))]
    found = rivals(crash_model={"rows": rows})
    self.assertEqual([one(found, f"Archapt table 4, ycsb-{letter}")["holds"]
                      for letter in "abde"], ["", False, True, None])

  def test_crash_counts_are_scaled_to_a_hundred(self):
    def row(letter, queue, inconsistent, repaired, lost, wrong=0):
      return {"workload": f"ycsb-{letter}", "queue": queue, "crashes": 20,
              "inconsistent": inconsistent, "found": repaired + lost,
              "repaired": repaired, "lost": lost, "wrong": wrong,
              "lost_needlessly": 0}
    rows = [row("a", 1, 40, 30, 10), row("f", 1, 10, 10, 0),
            row("a", 2, 1, 1, 0)]
    found = rivals(crash_model={"rows": rows})
    each = one(found, "Archapt table 4, ycsb-a")
    self.assertAlmostEqual(each["here"], 200)
    self.assertEqual(each["paper"], "901")
    self.assertIn("reported as lost 10", each["note"])
    self.assertIsNone(one(found, "Archapt table 4, ycsb-e")["here"])
    all_found = one(found, "Archapt table 4: of these found")
    self.assertIs(all_found["holds"], True)
    self.assertAlmostEqual(
        one(found, "Archapt table 4: of these repaired")["here"], 80)
    self.assertIs(one(found, "Archapt table 4: wrong")["holds"], True)
    self.assertAlmostEqual(
        one(found, "Archapt table 4, a queue of 2 caches")["here"], 5)
    # An object that no round has found.
    rows[0].update(found=39, lost=9, wrong=1)
    found = rivals(crash_model={"rows": rows})
    self.assertIs(one(found, "Archapt table 4: of these found")["holds"], False)
    self.assertIs(one(found, "Archapt table 4: wrong")["holds"], False)


if __name__ == "__main__":
  unittest.main()
