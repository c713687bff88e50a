"""bench-schemes: what the page looks like, of tables and plots that are made
up."""

import html
import os
import re
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.realpath(__file__)))))
sys.path.insert(0, os.path.join(ROOT, "lab", "schemes"))
# pylint: disable=wrong-import-position
import schemes_report
# After schemes_report, which says where pages of benches are made.
import doc_tables
import lines_plot
import schemes_page
from made_up_results import point, results


def sections(page):
  """(name, title) of each, in order."""
  return [(name, html.unescape(title)) for name, title in
          re.findall(r'<h2 id="([^"]+)">([^<]*)</h2>', page)]


def links(page):
  return [(name, html.unescape(title)) for name, title in
          re.findall(r'<li><a href="#([^"]+)">([^<]*)</a>', page)]


class SchemesPageTest(unittest.TestCase):

  def test_contents_lead_to_the_first_section_of_each_figure(self):
    table = (["a"], [["b"]])
    page = schemes_page.page([], [], [
        ("Speed, and a crash", table, ""), ("All, 0 ns", table, ""),
        ("All, 9 ns", table, ""), ("Fig. 1, 2: what <is>, here", table, ""),
        ("Fig. 1, 2: what <is>, there", table, ""),
        ("Fig. 3: other, here", table, "")], [])
    self.assertEqual(links(page), [
        ("section-0", "Speed, and a crash"), ("section-1", "All"),
        ("section-3", "Fig. 1, 2: what <is>"),
        ("section-5", "Fig. 3: other, here")])
    self.assertEqual([name for name, _ in sections(page)],
                     [f"section-{i}" for i in range(6)])

  def test_contents_lead_somewhere(self):
    made = results()
    made["points"].append(point("rewind-6", "a", 0, 1, "ns, all home"))
    page = schemes_report.page(made)
    there = dict(sections(page))
    self.assertGreater(len(links(page)), 3)
    self.assertLess(len(links(page)), len(there))
    for name, _ in links(page):
      self.assertIn(name, there)
    for title, _, _ in schemes_report.tables(made):
      self.assertIn(title, there.values())

  def test_a_plot_stands_before_its_tables(self):
    made = results()
    made["points"] += [point("wrap-8", "wrap", 0, 1, "p50 ns"),
                       {**point("wrap-8", "wrap", 600, 1, "p50 ns"),
                        "memory": "600 ns a line and drain"}]
    made["engine"].append({**made["engine"][2], "drain_ns": 500})
    titles = [title for _, title in sections(schemes_report.page(made))]
    fig_6 = "REWIND fig. 6: checkpoints (0: none), as it is"
    fig_8 = "WrAP fig. 8: response to 20 stores"
    for plot, table in ((f"Plot: {fig_6}", f"{fig_6}, ns"),
                        (f"Plot: {fig_8}, p50", f"{fig_8}, as it is, p50 ns"),
                        ("Plot: overwrite 1 KiB: us a transaction",
                         "All schemes with spreads, 0 ns more a drain")):
      self.assertEqual(titles.index(plot) + 1, titles.index(table), titles)

  def test_a_plot_without_tables_is_there(self):
    page = schemes_page.page([], [], [("a", (["b"], [["c"]]), "")],
                             [("name", "caption", "<svg/>", "none of these")])
    self.assertEqual(sections(page)[-1], ("plot-name", "Plot: caption"))

  def test_what_rounds_were_between_stands_below(self):
    table = schemes_page.as_html(
        (["series", "1"],
         [["a", "1,010,000,000 (966,000,000 to 1,040,000,000)"],
          ["b", "-"]]))
    self.assertIn("<td>1,010,000,000<span class=\"rounds\">966,000,000 to "
                  "1,040,000,000</span></td>", table)
    self.assertNotIn("long", table)

  def test_words_are_told_from_figures(self):
    table = schemes_page.as_html(
        (["a", "b"], [["1", "words that are too many for <one> line"]]))
    self.assertIn('<td>1</td><td class="long">words that are too many for '
                  "&lt;one&gt; line</td>", table)
    self.assertIn('<th>a</th><th class="long">b</th>', table)

  def test_verdicts_have_colours(self):
    table = schemes_page.as_html((["mark", "verdict"], [
        ["met", "met"], ["b", "not met"], ["c", "not judged: one round"],
        ["d", "-"]]))
    for cell in ("<td>met</td>", '<td class="met">met</td>',
                 '<td class="not-met">not met</td>',
                 '<td class="not-judged">not judged: one round</td>',
                 "<td>-</td>"):
      self.assertEqual(table.count(cell), 1, cell)
    named = {word.replace(" ", "-") for word in doc_tables.HOLDS.values()}
    self.assertEqual(named - {"-"},
                     set(re.findall(r"td\.([a-z-]+)", schemes_page.STYLE)))

  def test_a_number_that_stands_for_never_is_not_shown(self):
    series = "a+checkpoint=1000000000"
    made = results()
    made["points"] += [point("rewind-7", series, x, 1) for x in (0, 1)]
    made["points"] += [point("wrap-6", series, 20, 1, "drains")]
    for text in (lines_plot.line_chart({series: [(1, 1), (2, 2)]}, "x", "y"),
                 schemes_report.page(made), schemes_report.markdown(made)):
      self.assertIn("a+no checkpoints of its own", text)
    self.assertNotIn("1000000000", lines_plot.line_chart(
        {series: [(1, 1), (2, 2)]}, "x", "y"))
    for table in (schemes_report.measures_table, schemes_report.places_table):
      _, lines = table(made["points"][-1:], "")
      self.assertEqual(lines[0][0], "a+no checkpoints of its own")

  def test_a_gib_is_not_said_to_be_one_in_proportion(self):
    def heads(data):
      made = results()
      made["points"] += [point("data", "undo-own", data, 1.1 * data,
                               "bytes of persistent memory")]
      return doc_tables.price_table(made)[0]
    self.assertIn("persistent GiB for a GiB of data", heads(1_073_740_000.0))
    self.assertIn("persistent GiB for a GiB of data, by 64.0 MiB",
                  heads(64 << 20))


if __name__ == "__main__":
  unittest.main()
