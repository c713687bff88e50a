"""bench-schemes: where a plot has its lines, and what their rounds were
between."""

import os
import re
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.realpath(__file__)))))
sys.path.insert(0, os.path.join(ROOT, "lab", "schemes"))
# pylint: disable=wrong-import-position
# pylint: disable=unused-import
import schemes_report  # where pages of benches are made
import lines_plot

TITLE = re.compile(r'<circle cx="([\d.]+)" cy="([\d.]+)"[^>]*><title>'
                   r"(.*?): [^<]* at ([\d.]+)")
RANGE = re.compile(r'<line x1="([\d.]+)" x2="([\d.]+)" y1="([\d.]+)" '
                   r'y2="([\d.]+)"[^>]*opacity')
PLACES = (0, 110, 250, 500, 1000)


def drawn(lines):
  return lines_plot.line_chart(lines, "x", "y")


def lefts(svg):
  """How far right each series is at each x."""
  return {(series, float(x)): float(left)
          for left, _, series, x in TITLE.findall(svg)}


def stores(count, spread=0.1, places=PLACES):
  return {f"store {i:02}": [(x, 1, 1 - spread, 1 + spread) for x in places]
          for i in range(count)}


class LinesPlotTest(unittest.TestCase):

  def test_ranges_of_one_place_are_beside_each_other(self):
    svg = drawn(stores(15))
    at = lefts(svg)
    self.assertEqual(len(at), 15 * len(PLACES))
    for x in PLACES:
      of_x = [at[f"store {i:02}", x] for i in range(15)]
      for left, right in zip(of_x, of_x[1:]):
        self.assertGreater(right - left, 2)
    ranges = RANGE.findall(svg)
    self.assertEqual(len(ranges), len(at))
    for (left, same, _, _), dot in zip(ranges, TITLE.findall(svg)):
      self.assertEqual((left, same), (dot[0], dot[0]))

  def test_places_are_told_apart(self):
    for places in (PLACES, (0, 1, 1000), (1, 2, 4, 1000)):
      at = lefts(drawn(stores(15, places=places)))
      for x, later in zip(places, places[1:]):
        self.assertLess(at["store 14", x], at["store 00", later])
      for left in at.values():
        self.assertGreaterEqual(left, lines_plot.LEFT)
        self.assertLessEqual(left, lines_plot.WIDE - lines_plot.RIGHT)

  def test_the_middle_of_all_is_where_the_axis_has_it(self):
    svg = drawn(stores(3, places=(0, 1000)))
    at = lefts(svg)
    for x, word in ((0, "0"), (1000, "1,000")):
      tick = re.search(rf'<text x="([\d.]+)"[^>]*middle">{word}<', svg)
      self.assertAlmostEqual(float(tick[1]), at["store 01", x], delta=0.1)

  def test_lines_without_ranges_are_where_they_are(self):
    for lines in ({"a": [(0, 1), (1, 2)], "b": [(0, 3), (1, 4)]},
                  stores(2, spread=0)):
      at = lefts(drawn(lines))
      for x in (0, 1):
        found = {left for (_, place), left in at.items() if place == x}
        self.assertLessEqual(len(found), 1)

  def test_ranges_are_within_the_axes(self):
    for outlier in (3, 300):
      svg = drawn({"a": [(0, 1, 0.5, outlier), (1, 1, 0.9, 1.1)]})
      for _, _, low, high in RANGE.findall(svg):
        self.assertGreaterEqual(float(high), lines_plot.TOP - 0.1)
        self.assertLessEqual(float(low),
                             lines_plot.HEIGHT - lines_plot.BOTTOM + 0.1)
        self.assertGreater(float(low), float(high))

  def test_a_key_of_many_has_two_columns(self):
    def columns(count):
      svg = drawn(stores(count))
      names = re.findall(r'<text x="(\d+)" y="(\d+)">store', svg)
      self.assertEqual(len(set(names)), count)
      width, height = (int(re.search(rf'{what}="(\d+)"', svg)[1])
                       for what in ("width", "height"))
      for x, y in names:
        self.assertLess(int(x), width)
        self.assertLess(int(y), height)
      return len({x for x, _ in names})
    self.assertEqual([columns(n) for n in (1, 8, 9, 15)], [1, 1, 2, 2])


if __name__ == "__main__":
  unittest.main()
