#!/usr/bin/env python3
"""Makes tables and plots of what `make bench-schemes` has measured.

    schemes_report.py schemes.json FOLDER

writes FOLDER/schemes.html (all of it; needs nothing but itself), schemes.md
(the tables, as docs have them) and schemes-*.svg (the plots alone). Exits with
0, 1 when a file cannot be read or written, 2 when the words are wrong.
"""

import html
import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "service"))
# pylint: disable=wrong-import-position
import doc_tables
import report
from doc_tables import HOLDS, WORKLOADS, drains_of, engine_row
from lines_plot import line_chart
from plots import engine_report, number

in_order = engine_report.in_order
# Figure, what its x is.
FIGURES = {
    "rewind-3-left": ("REWIND fig. 3 left: what logging costs",
                      "part of the time that stores take"),
    "rewind-3-right": ("REWIND fig. 3 right: commits", "skip records"),
    "rewind-4-left": ("REWIND fig. 4 left: rollbacks", "skip records"),
    "rewind-4-right": ("REWIND fig. 4 right: recovery", "skip records"),
    "rewind-5": ("REWIND fig. 5: logging and recovery", "part recovered"),
    "rewind-6": ("REWIND fig. 6: checkpoints (0: none)",
                 "records from one to the next"),
    "rewind-7": ("REWIND fig. 7: a B+tree", "part that updates"),
    "rewind-10-tree": ("REWIND fig. 10: fences, an operation a transaction",
                       "ns more a drain"),
    "rewind-10-tree-32": ("REWIND fig. 10: fences, 32 operations a transaction",
                          "ns more a drain"),
    "rewind-10-words": ("REWIND fig. 10: fences, 320 words a transaction",
                        "ns more a drain"),
    "rewind-11": ("REWIND fig. 11: new orders by layout", ""),
    "wrap-6": ("WrAP fig. 6: 100 wraps of 20 stores", ""),
    "wrap-7": ("WrAP fig. 7: bursts", "ns more a line and drain"),
    "wrap-8": ("WrAP fig. 8: response to 20 stores",
               "ns more a line and drain"),
    "wrap-13": ("WrAP fig. 13: response to 20 inserts",
                "ns more a line and drain"),
    "wrap-14": ("WrAP fig. 14: response by inserts", "inserts"),
    "archapt-1-2": ("Archapt fig. 1, 2: logging and flushing", "bytes"),
    "archapt-3": ("Archapt fig. 3: uses of an object (3: more than 2)", "uses"),
    "archapt-table-1": ("Archapt table 1: dirtiness", ""),
    "archapt-sums": ("Archapt: what checks and sums cost", "bytes"),
    "archapt-9": ("Archapt fig. 9: lines a transaction", "bytes"),
    "archapt-7": ("Archapt fig. 7: where there is more than the queue holds",
                  "bytes"),
    "data": ("Memory that data takes, and opening it", "bytes of data"),
}
# Tables that pages have, by name (doc_tables.py).
TITLES = (("speed", "Which scheme when: speed"),
          ("price", "Which scheme when: what it takes, and a crash"),
          ("rates", "All schemes"),
          ("counts", "Fences and lines of a transaction, and storage"),
          ("durable", "Until it has committed, and until it is durable"),
          ("recovery", "Opening after a crash"),
          ("wraps", "WrAP fig. 6, all who take part"),
          ("skipped", "Archapt fig. 9, all who take part"),
          ("marks-rewind", "REWIND's marks"), ("marks-wrap", "WrAP's marks"),
          ("marks-archapt", "Archapt's marks"))
# All x are one picture with a line for each series.
PLOTTED = ("rewind-3-left", "rewind-3-right", "rewind-4-left", "rewind-4-right",
           "rewind-6", "rewind-7", "rewind-10-tree-32", "rewind-10-words",
           "archapt-1-2")
OF_QUANTILES = ("wrap-8", "wrap-13", "wrap-14")


# --- Tables: heads and lines.


def all_schemes_table(results, drain_ns):
  lines = []
  for store in results["stores"]:
    line = [store]
    for _, workload, size in WORKLOADS:
      row = engine_row(results, drain_ns, store, workload, size)
      line.append("-" if row is None else
                  f"{number(row['ops_per_s'] / 1e3)} ~"
                  f"{100 * row['spread']:.0f}%")
    lines.append(line)
  return ["thousand a second ~spread", *(w[0] for w in WORKLOADS)], lines


def figure_table(points, what):
  """A line for each series and measure, a column for each x."""
  places = in_order(p["x"] for p in points)
  several = len({p["measure"] for p in points}) > 1
  lines = []
  for series, measure in in_order((p["series"], p["measure"]) for p in points):
    of_x = {p["x"]: p["value"] for p in points
            if (p["series"], p["measure"]) == (series, measure)}
    lines.append([series, *([measure] if several else []),
                  *(number(of_x.get(x)) for x in places)])
  unit = points[0]["measure"]
  heads = [what or unit, *(["what"] if several else []),
           *(f"{x:g}" if what else unit for x in places)]
  return heads, lines


def loads_table(loads):
  return (["run", "others' processors", "steal"],
          [[load["run"], number(load["foreign_processors"]),
            f"{100 * load['steal']:.1f} %"] for load in loads])


def cell(value):
  if isinstance(value, bool) or not isinstance(value, (int, float)):
    return str(value)
  return f"{value:,}" if isinstance(value, int) else number(value)


def rows_table(rows):
  """Of another program's: a column for each key."""
  heads = in_order(key for row in rows for key in row)
  return heads, [[cell(row.get(h, "-")) for h in heads] for row in rows]


def model_tables(title, model):
  """(title, table) of what another program wrote: `figures` with tables and
  marks of their own, or `rows`, or the rows alone."""
  if isinstance(model, list):
    model = {"rows": model}
  if model.get("rows"):
    yield title, rows_table(model["rows"])
  for figure in model.get("figures", ()):
    for table in figure["tables"]:
      yield (f"{title}: {figure['title']}, {table['title']}",
             (table["columns"], [[cell(value) for value in row]
                                 for row in table["rows"]]))
  marks = [[figure["title"], m["what"], m["paper"], m["ours"],
            HOLDS[m["met"]]]
           for figure in model.get("figures", ()) for m in figure["marks"]]
  if marks:
    yield f"{title}: marks", (["", "mark", "the paper", "here", ""], marks)


def tables(results):
  """(title, table) of each."""
  of_docs = doc_tables.all_tables(results)
  for name, title in TITLES:
    if of_docs[name][1]:
      yield f"{title} ({name})", of_docs[name]
  for drain_ns in drains_of(results):
    yield (f"All schemes with spreads, {drain_ns} ns more a drain",
           all_schemes_table(results, drain_ns))
  for paper in doc_tables.PAPERS:
    compared = [m for m in results["marks"]
                if m["name"].startswith(paper) and not m["target"]]
    if compared:
      yield (f"{paper}: what there is no mark of",
             doc_tables.marks_table(compared))
  for figure, memory, points in figures(results):
    title, what = FIGURES[figure]
    yield (f"{title}, {memory}", figure_table(points, what))
  for name, title in (("wrap_model", "WrAP's timing model"),
                      ("crash_model", "Crashes through a cache model")):
    if results.get(name):
      yield from model_tables(title, results[name])
  yield "What else the machine did", loads_table(results["loads"])


def figures(results):
  """(figure, memory, points) of each that is known."""
  for figure in FIGURES:
    of_figure = [p for p in results["points"] if p["figure"] == figure]
    for memory in in_order(p["memory"] for p in of_figure):
      yield figure, memory, [p for p in of_figure if p["memory"] == memory]


# --- Plots.



def pictures(results):
  """(name, caption, svg) of each plot."""
  drains = drains_of(results)
  for title, workload, size in WORKLOADS:
    lines = {}
    for store in results["stores"]:
      rows = [(d, engine_row(results, d, store, workload, size))
              for d in drains]
      line = [(d, 1e6 / r["ops_per_s"]) for d, r in rows
              if r is not None and r["ops_per_s"]]
      if len(line) > 1:
        lines[store] = line
    if lines:
      yield (f"drains-{workload}-{size}", f"{title}: us a transaction",
             line_chart(lines, "ns more a drain", "us"))
  for figure, memory, points in figures(results):
    if figure in PLOTTED:
      # Of several measures the first.
      points = [p for p in points if p["measure"] == points[0]["measure"]]
      lines = {series: [(p["x"], p["value"]) for p in points
                        if p["series"] == series]
               for series in in_order(p["series"] for p in points)}
      title, what = FIGURES[figure]
      yield (f"{figure}-{memory.replace(' ', '-')}", f"{title}, {memory}",
             line_chart(lines, what, points[0]["measure"]))
  yield from quantile_pictures(results)


def quantile_pictures(results):
  """Response times; those by memory are one picture for all memories."""
  for figure in OF_QUANTILES:
    points = [p for p in results["points"]
              if p["figure"] == figure and p["measure"] == "p50 ns"]
    lines = {series: sorted((p["x"], p["value"]) for p in points
                            if p["series"] == series)
             for series in in_order(p["series"] for p in points)}
    if lines:
      title, what = FIGURES[figure]
      yield figure, f"{title}, p50", line_chart(lines, what, "ns")


# --- Files.


def facts(results):
  return list(results["facts"].items())


def markdown(results):
  parts = [report.item(f"{name}: {value}") for name, value in facts(results)]
  for title, table in tables(results):
    parts += ["", f"### {title}", "", report.as_markdown(table).rstrip()]
  return "\n".join(parts) + "\n"


def aligned(table):
  heads, lines = table
  widths = [max(len(line[i]) for line in [heads, *lines])
            for i in range(len(heads))]
  return "\n".join("  ".join(word.ljust(width) for word, width
                             in zip(line, widths)).rstrip()
                   for line in [heads, *lines])


def as_text(results):
  """For a terminal."""
  parts = [f"{name}: {value}" for name, value in facts(results)]
  for title, table in tables(results):
    parts += ["", title, aligned(table)]
  return "\n".join(parts) + "\n"


def page(results):
  parts = ['<p class="note">Medians of rounds in which stores take turns; '
           "spread is (highest &minus; lowest) / median.</p>"]
  parts += [engine_report.figure(svg, caption)
            for _, caption, svg in pictures(results)]
  for title, table in tables(results):
    parts += [f"<h2>{html.escape(title)}</h2>", report.as_html(table)]
  return engine_report.page_of("Atomicity schemes", facts(results), parts)


def files(results):
  """Name to contents of all that is written."""
  written = {"schemes.html": page(results), "schemes.md": markdown(results)}
  for name, _, svg in pictures(results):
    written[f"schemes-{name}.svg"] = svg + "\n"
  return written


def main(words):
  return engine_report.write_files(words, "schemes_report.py", files)


if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
