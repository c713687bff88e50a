"""Plots of benches: what a file has, of series that are made up."""

import os
import re
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.path.insert(0, os.path.join("bench", "report"))
# pylint: disable=wrong-import-position
import plots

KINDS = {
    "lines": {"undo-own": [(0, 10, 9, 12), (1000, 500, 400, 600)],
              "undo-own, declared": [(0, 20), (1000, 30)]},
    "bars": {"redis": [("put", 3, 2, 4), ("get", 1, 1, 1)],
             "etcd": [("get", 2)]},
    "stacked": {"fences": [("one", 5), ("two", None)],
                "copies": [("one", -1), ("two", 3)]},
    "dots": {"stop head, writes": [3, 4, 5], "stop head, reads": [1]}}


def plot(kind, **more):
  return plots.Plot("name", "A <title>", "size, bytes", "latency, us",
                    KINDS[kind], kind, **more)


class PlotsTest(unittest.TestCase):

  def setUp(self):
    temporary = tempfile.TemporaryDirectory()
    self.addCleanup(temporary.cleanup)
    self.folder = temporary.name

  def drawn(self, made, suffix="svg"):
    path = os.path.join(self.folder, f"plot.{suffix}")
    plots.write(made, path)
    with open(path, "rb") as file:
      return file.read()

  def test_every_kind_has_its_labels(self):
    for kind, series in KINDS.items():
      svg = self.drawn(plot(kind, target=2.5))
      texts = [node.text for node in xml.etree.ElementTree.fromstring(svg).iter(
          "{http://www.w3.org/2000/svg}text")]
      for word in ("A <title>", *series):
        self.assertIn(word, texts, kind)
      self.assertTrue([t for t in texts if t.startswith("size, bytes") or
                       t.startswith("latency, us")], kind)
      self.assertTrue(self.drawn(plot(kind), "png").startswith(b"\x89PNG"))

  def test_the_same_plot_is_the_same_file(self):
    for kind in KINDS:
      for suffix in plots.FORMATS:
        first = self.drawn(plot(kind), suffix)
        self.assertEqual(self.drawn(plot(kind), suffix), first)
        self.assertNotIn(b"dc:date", first)

  def test_ranges_of_one_place_are_beside_each_other(self):
    series = {f"store {i}": [(x, 1, 0.5, 1.5) for x in (0, 1)]
              for i in range(3)}
    svg = self.drawn(plots.Plot("n", "t", "x", "y", series)).decode()
    # The range of a point is a vertical line.
    lefts = {a for a, b in re.findall(
        r'd="M ([\d.]+) [\d.]+ \nL ([\d.]+) [\d.]+ \n" clip-path', svg)
             if a == b}
    self.assertGreaterEqual(len(lefts), 6)

  def test_values_far_apart_need_a_logarithmic_axis(self):
    self.assertTrue(plots.is_logarithmic([0.2, 9]))
    for values in ([0, 1000], [3, 22], [5, 5], []):
      self.assertFalse(plots.is_logarithmic(values), values)
    svg = self.drawn(plot("lines")).decode()
    self.assertIn("latency, us (logarithmic)", svg)
    self.assertNotIn("bytes (logarithmic)", svg)

  def test_ticks_are_formatted(self):
    self.assertEqual([plots.tick(v) for v in (0, 0.5, 1500, 50_000_000)],
                     ["0", "0.5", "1,500", "50 M"])

  def test_series_of_an_unknown_name_share_its_colour(self):
    found = plots.styles(["a, p50", "b, p50", "a, p99", "b, p99"])
    self.assertEqual(found["a, p50"][0], found["a, p99"][0])
    self.assertEqual(found["b, p50"][0], found["b, p99"][0])
    self.assertNotEqual(found["a, p50"][0], found["b, p50"][0])

  def test_series_have_different_styles(self):
    series = ["wrap", "wrap+alone", "undo-own, declared", "undo-own", "ycsb-a",
              "ycsb-b", "kamino-dynamic@0.1", "kamino-dynamic@0.5"]
    found = plots.styles(series)
    self.assertEqual(len(set(found.values())), len(series))
    # One name has one colour.
    self.assertEqual(found["wrap"][0], found["wrap+alone"][0])
    self.assertEqual(found["undo-own"][0], plots.COLOURS["undo-own"])


if __name__ == "__main__":
  unittest.main()
