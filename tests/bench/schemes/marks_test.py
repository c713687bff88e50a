"""bench-schemes: marks of measurements that are made up."""

import os
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.realpath(__file__)))))
sys.path.insert(0, os.path.join(ROOT, "bench", "schemes"))
# pylint: disable=wrong-import-position
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

  def test_lies_between_the_points(self):
    line = [(100, 10), (200, 30)]
    self.assertAlmostEqual(marks.crossing(line, [(100, 20), (200, 20)]), 150)

  def test_is_none_where_there_is_none(self):
    line = [(100, 10), (200, 30)]
    self.assertIsNone(marks.crossing(line, [(100, 20), (200, 40)]))
    self.assertIsNone(marks.crossing([], []))

  def test_is_the_first_where_it_is_behind_from_the_beginning(self):
    self.assertEqual(marks.crossing([(1, 5), (2, 6)], [(1, 4), (2, 4)]), 1)


class RewindTest(unittest.TestCase):

  def test_what_is_not_measured_is_neither_met_nor_not(self):
    for found in rewind() + rivals():
      self.assertIn(found["holds"], (None,), found["name"])
      self.assertIsNone(found["here"])

  def test_logging_is_compared_with_stores_that_are_not_logged(self):
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
    # What has not been flushed is not free.
    one_layer = one(found, name + "brought home")
    self.assertAlmostEqual(one_layer["here"], 1.69)
    self.assertIs(one_layer["holds"], False)
    self.assertIs(one(found, "REWIND fig. 3 left, as it is: two layers over "
                      "one")["holds"], False)
    self.assertEqual(one(found, "REWIND fig. 3 left, as it is: two layers "
                         "over unsafe-each")["holds"], "")

  def test_the_crossing_is_of_the_one_that_looks_through_the_log(self):
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
    self.assertIs(one(found, "REWIND fig. 3 right, as it is: commits, one "
                      "layer that remembers")["holds"], True)

  def test_checkpoints_have_an_order_and_fall(self):
    points = []
    for form, often, seldom in (("simple", 180, 160), ("optimized", 130, 110),
                                ("batch", 140, 103)):
      series = f"rewind-1-noforce-{form}+alone,checkpoint=1000000000"
      points += [point("rewind-6", series, x, v)
                 for x, v in ((0, 100), (500, often), (10000, seldom))]
    found = rewind(*points)
    simple = one(found, "REWIND fig. 6, as it is: checkpoints, simple")
    self.assertAlmostEqual(simple["here"], 80)
    self.assertIs(simple["holds"], True)
    self.assertIs(one(found, "REWIND fig. 6, as it is: checkpoints, the forms'"
                      " order")["holds"], False)

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
    # What is not slowed down at all was disturbed: nothing is told of it.
    points[-1]["value"] = 99
    falls = one(rewind(*points), "REWIND fig. 10, transactions of 320 words "
                "each: excess")
    self.assertIsNone(falls["here"])
    self.assertIsNone(falls["holds"])


  def test_lines_that_do_not_cross_were_measured(self):
    points = [point("rewind-5", f"rewind-1-{policy}-optimized+{more}, 10 skips",
                    part, value)
              for policy, more, value in (("noforce", "alone", 1),
                                          ("force", "keeps,alone", 2))
              for part in (0, 1)]
    found = one(rewind(*points), "REWIND fig. 5, as it is: part recovered from "
                "which on force is less, 10 skips")
    self.assertEqual(found["here"], marks.NOWHERE)
    self.assertIs(found["holds"], False)
    self.assertIn("no force is less", found["note"])


class SettleTest(unittest.TestCase):

  def settled(self, holds, value, *rounds):
    def of(here):
      return marks.mark("a", "", "<= 1", here, holds)
    return marks.settle([of(value)], [[of(r)] for r in rounds])[0]

  def test_rounds_that_are_near_to_each_other_have_a_verdict(self):
    found = self.settled(lambda v: v <= 1, 0.7, 0.6, 0.7, 0.8)
    self.assertIs(found["holds"], True)
    self.assertEqual((found["low"], found["high"]), (0.6, 0.8))
    self.assertNotIn("test", found)

  def test_rounds_further_apart_than_the_target_is_have_none(self):
    for rounds in ((0.6, 0.9, 0.95), (0.8, 0.9, 1.2)):
      found = self.settled(lambda v: v <= 1, 0.9, *rounds)
      self.assertEqual(found["holds"], marks.DISTURBED, rounds)
      self.assertEqual(found["reason"], "")

  def test_one_of_five_may_be_disturbed(self):
    low = (0.70, 0.71, 0.72, 0.73)
    self.assertIs(self.settled(lambda v: v <= 1, 0.72, *low, 9)["holds"], True)
    self.assertEqual(self.settled(lambda v: v <= 1, 0.72, *low[1:], 8, 9)
                     ["holds"], marks.DISTURBED)

  def test_what_does_not_go_by_a_value_goes_by_the_rounds(self):
    verdicts = iter([True, True, False, True])
    def holds(value, found={}):  # pylint: disable=dangerous-default-value
      if value not in found:
        found[value] = next(verdicts, True)
      return found[value]
    found = self.settled(holds, 1, 1.0, 5, 3)
    self.assertEqual(found["holds"], marks.DISTURBED)

  def test_one_round_is_what_it_is(self):
    found = self.settled(lambda v: v == 100, 100, 100)
    self.assertIs(found["holds"], True)
    self.assertIsNone(found["low"])

  def test_a_mark_of_rounds_is_of_what_was_measured_together(self):
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


class PointsTest(unittest.TestCase):

  def test_a_store_is_found_by_its_name_without_its_alpha(self):
    points = marks.Points([point("durable", "kamino-dynamic@0.5", 1, 7)])
    self.assertEqual(points.value("durable", "kamino-dynamic"), 7)
    self.assertIsNone(points.value("durable", "kamino"))

  def test_a_line_is_of_one_measure(self):
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

  def test_a_weak_rival_stands_beside_ours(self):
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

  def test_the_gap_is_the_rivals(self):
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
    self.assertIsNone(one(rivals(*rates), name)["here"])

  def test_checking_is_a_part_of_the_time(self):
    found = rivals(point("archapt-sums", "archapt", 64, 5.5,
                         "% of the time by checking"),
                   point("archapt-sums", "archapt", 1024, 4.5,
                         "% of the time by checking"))
    name = "Archapt: part of a transaction that checks and sums are, "
    self.assertIs(one(found, name + "64 B")["holds"], False)
    self.assertIs(one(found, name + "1024 B")["holds"], True)
    self.assertIsNone(one(found, name + "4096 B")["holds"])

  def test_lines_are_compared_with_the_same_work(self):
    found = rivals(
        point("archapt-9", "archapt, overwrite", 1024, 24, "lines"),
        point("archapt-9", "archapt, overwrite", 1024, 30,
              "lines with what was left"),
        point("durable", "archapt", 1024, 40, "lines, each waited for"),
        point("archapt-9", "undo-object, overwrite", 1024, 40, "lines"),
        point("archapt-9", "undo-object, overwrite", 4096, 400, "lines"))
    name = "Archapt fig. 9, overwrite, {} B: lines less than undo-object's, "
    for who, here, holds in (("nobody waits, %", 40, True),
                             ("nobody waits, all flushed in the end, %", 25,
                              False),
                             ("each waited for, %", 0, False)):
      found_one = one(found, name.format(1024) + who)
      self.assertAlmostEqual(found_one["here"], here)
      self.assertIs(found_one["holds"], holds)
    self.assertIsNone(one(found, name.format(4096) + "nobody waits, %")["here"])

  def test_crashes_are_counted_by_the_hundred(self):
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
    # One that nobody has found.
    rows[0].update(found=39, lost=9, wrong=1)
    found = rivals(crash_model={"rows": rows})
    self.assertIs(one(found, "Archapt table 4: of these found")["holds"], False)
    self.assertIs(one(found, "Archapt table 4: wrong")["holds"], False)


if __name__ == "__main__":
  unittest.main()
