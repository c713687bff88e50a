"""bench-schemes: what the page, the terminal and documents get of a part of a
run, of results that are made up."""

import contextlib
import io
import json
import os
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.realpath(__file__)))))
sys.path.insert(0, os.path.join(ROOT, "lab", "schemes"))
# pylint: disable=wrong-import-position
import schemes_view
# After schemes_view, which adds the folder of the reports of benches.
import doc_tables
import page
import paste_tables
from made_up_results import engine_row, point, results


def part(engine=(), points=(), stores=("undo-own", "wrap", "unsafe")):
  return {**results(), "engine": list(engine), "points": list(points),
          "stores": list(stores), "marks": [], "wrap_model": None,
          "loads": [], "part_of_a_run": "--only=x"}


def durable(store, value):
  return point("durable", store, 1024, value, "p50 ns to the commit")


def tables(made):
  """(table, what is said above it) by title."""
  return {title: (table, said)
          for title, table, said in schemes_view.tables(made)}


class PartOfARunTest(unittest.TestCase):

  def test_a_table_has_only_measured_rows_and_columns(self):
    made = part(engine=[engine_row("unsafe", "overwrite-bytes", 64, 9000)],
                points=[durable("undo-own", 1500)])
    (heads, lines), said = tables(made)["Which scheme when: speed"]
    self.assertEqual(heads, ["thousand a second", "64 B",
                             "us to the commit: p50, p99"])
    self.assertEqual(lines, [["undo-own", "-", "1.50, -"],
                             ["unsafe", "9.00", "-"]])
    self.assertEqual(said, "Not measured, and left out: the columns '1 KiB', "
                     "'YCSB A', 'YCSB B', 'TPC-C mix', 'us until durable: "
                     "p50', and the lines 'wrap'.")

  def test_an_empty_table_is_left_out(self):
    made = part(points=[durable("undo-own", 1500)])
    there = tables(made)
    self.assertEqual(list(there), [
        "Which scheme when: speed",
        "Until it has committed, and until it is durable"])
    warning = next(w for w in schemes_view.warnings(made)
                   if w.startswith("Nothing was measured"))
    self.assertIn("Opening after a crash; ", warning)
    self.assertIn("All schemes; ", warning)
    self.assertNotIn("Which scheme when: speed", warning)
    figures = len(schemes_view.FIGURES)
    self.assertTrue(warning.endswith(f"; {figures} of {figures} figures."))

  def test_a_known_value_does_not_count_as_measured(self):
    # The cost of a crash, and that the scheme that never flushes is never
    # durable.
    made = part(points=[point("rewind-6", "a", 0, 1)],
                stores=("unsafe", "archapt", "cached"))
    self.assertEqual([title for title in tables(made)
                      if not title.startswith("REWIND fig. 6")], [])

  def test_unmeasured_values_are_not_shown_as_zero(self):
    made = part(points=[point("recovery-committed", "wrap", 1, 1e6,
                              "ns after a crash")])
    (heads, lines), _ = tables(made)["Opening after a crash"]
    self.assertEqual(heads, ["opens in ms", "log full of committed"])
    self.assertEqual(lines, [["wrap", "1.00"]])

  def test_spreads_have_only_measured_values(self):
    made = part(engine=[engine_row("wrap", "ycsb-a", 1000, 9000, 110)])
    (heads, lines), said = tables(made)[
        "All schemes with spreads, 110 ns more a drain"]
    self.assertEqual(heads, ["thousand a second ~spread", "YCSB A"])
    self.assertEqual(lines, [["wrap", "9.00 ~5%"]])
    self.assertIn("'TPC-C mix', and the lines 'undo-own', 'unsafe'.", said)

  def test_a_whole_table_has_no_remark(self):
    table = (["", "a"], [["one", "1"], ["two", "2"]])
    self.assertEqual(doc_tables.only_measured(table), (table, ""))

  def test_the_page_and_the_terminal_say_what_was_left_out(self):
    made = part(points=[durable("undo-own", 1500)])
    said = "Not measured, and left out: the columns '64 B', "
    self.assertIn(f"\n{said}",
                  page.markdown(schemes_view.report(made), "schemes"))
    self.assertIn(f"\n{said}", schemes_view.text(made))

  def test_the_terminal_shows_only_measured_tables(self):
    made = part(points=[point("rewind-6", "a", x, 1) for x in (0, 500)])
    made["marks"] = results()["marks"]
    text = schemes_view.text(made)
    self.assertIn("REWIND fig. 6: checkpoints", text)
    self.assertNotIn("to be met", text)

  def test_documents_refuse_an_empty_table(self):
    made = part(points=[durable("undo-own", 1500)])
    with tempfile.TemporaryDirectory() as folder:
      file = os.path.join(folder, "schemes.json")
      document = os.path.join(folder, "page.md")
      text = "<!-- schemes.json: counts -->\nold\n<!-- end -->\n"
      for path, words in ((file, json.dumps(made)), (document, text)):
        with open(path, "w", encoding="utf-8") as out:
          out.write(words)
      with contextlib.redirect_stderr(io.StringIO()) as said:
        self.assertEqual(paste_tables.main([file, document]), 1)
      self.assertIn("'counts'", said.getvalue())
      with open(document, encoding="utf-8") as kept:
        self.assertEqual(kept.read(), text)


if __name__ == "__main__":
  unittest.main()
