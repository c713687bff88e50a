"""The report of `make bench-schemes`."""

import os
import re
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(ROOT, "bench", "report"))
# pylint: disable=wrong-import-position
import doc_tables
import judge
import marks
import model_origin
import page
import views
from doc_tables import WORKLOADS, drains_of, engine_row
from plots import Plot
from tables import Table, in_order, number

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
          ("wraps", "WrAP fig. 6, all schemes"),
          ("skipped", "Archapt fig. 9, all schemes"),
          ("marks-rewind", "REWIND's marks"), ("marks-wrap", "WrAP's marks"),
          ("marks-archapt", "Archapt's marks"),
          *((f"compared-{paper.lower()}", f"{paper}: what there is no mark of")
            for paper in doc_tables.PAPERS))
OF_MARKS = ("marks-", "compared-")
WITH_SPREADS = "All schemes with spreads"
# Title, tables with its results, and the name in them.
MODELS = {
    model_origin.WRAP: ("WrAP's timing model", ("marks-wrap",),
                        "Its timing model"),
    model_origin.CRASH: ("Crashes through a cache model",
                         ("marks-archapt", "compared-archapt"), "Table 4")}
# All x are one picture with a line for each series.
PLOTTED = ("rewind-3-left", "rewind-3-right", "rewind-4-left", "rewind-4-right",
           "rewind-6", "rewind-7", "rewind-10-tree-32", "rewind-10-words",
           "archapt-1-2")
OF_QUANTILES = ("wrap-8", "wrap-13", "wrap-14")


# A line for each series at each place, a column for each measure: there are
# many of these, and few places.
BY_MEASURE = ("wrap-6", "archapt-7", "archapt-9", "archapt-sums")
# A spread that makes a comparison doubtful; more of them, and the run is.
LARGE_SPREAD, MANY = 0.5, 0.1
# Bytes of objects that are more than Archapt's queue holds (words.h), and the
# figures that are of these.
BEYOND_QUEUE = 192 << 20
OF_QUEUE = ("archapt-7", "archapt-9")
# The terminal gets the first tables.
PRINTED = 2
LEGEND = (
    "Medians of rounds in which stores take turns; beside a figure of a paper, "
    "and as a thin line in a plot, stands between which values its rounds "
    "were. Stores at one place of a plot are a little apart, so that these "
    "lines can be seen. *As it is* is this machine's memory, nothing added; "
    "*all home* is with what was put off. A verdict is given only where rounds "
    "are no further apart than the way to the other verdict: else it is "
    "*disturbed*, and of fewer than "
    f"{marks.LEAST_ROUNDS} rounds *not judged*. What is *counted once* is not "
    "timed: it hangs on the clock of Archapt alone. What a mark *is known* not "
    "to be met by is of runs before.")


# --- Tables: heads and lines.


def with_spread(row):
  """One round has none."""
  rate = number(row["ops_per_s"] / 1e3)
  return (rate if len(row.get("rounds", ())) == 1
          else f"{rate} ~{100 * row['spread']:.0f}%")


def all_schemes_table(results, drain_ns):
  lines = []
  for store in results["stores"]:
    line = [store]
    for _, workload, size in WORKLOADS:
      row = engine_row(results, drain_ns, store, workload, size)
      line.append("-" if row is None else with_spread(row))
    lines.append(line)
  return ["thousand a second ~spread", *(w[0] for w in WORKLOADS)], lines


def key(series):
  """The name of a series for a reader, without the number that means never."""
  return series.replace("checkpoint=1000000000", "no checkpoints of its own")


def with_rounds(point):
  """The median, and behind it what the rounds were between; where these are
  apart, what is beyond three digits says nothing."""
  if point is None:
    return "-"
  value, low, high = (point.get(key) for key in ("value", "low", "high"))
  if low == high or None in (low, high):
    return number(value)
  value, low, high = (float(f"{one:.3g}") for one in (value, low, high))
  return f"{number(value)} ({doc_tables.low_to_high(low, high)})"


def measures_table(points, what):
  """A line for each series and place, a column for each measure."""
  measures = in_order(p["measure"] for p in points)
  known = {(p["series"], p["x"], p["measure"]): p for p in points}
  several = len({p["x"] for p in points}) > 1
  lines = [[key(series), *([f"{x:,g}"] if several else []),
            *(with_rounds(known.get((series, x, m))) for m in measures)]
           for series, x in in_order((p["series"], p["x"]) for p in points)]
  return ["", *([what] if several else []), *measures], lines


def places_table(points, what):
  """Table of one measure: a line for each series, a column for each x."""
  places = sorted({p["x"] for p in points})
  lines = []
  for series in in_order(p["series"] for p in points):
    of_x = {p["x"]: p for p in points if p["series"] == series}
    lines.append([key(series), *(with_rounds(of_x.get(x)) for x in places)])
  return [what, *(f"{x:,g}" for x in places)], lines


def figure_tables(title, what, points):
  """(title with the unit, table) of each measure, or of all."""
  figure = points[0]["figure"]
  measures = in_order(p["measure"] for p in points)
  if figure in BY_MEASURE or len({p["x"] for p in points}) == 1:
    unit = f", {measures[0]}" if len(measures) == 1 else ""
    yield title + unit, measures_table(points, what)
    return
  for measure in measures:
    yield (f"{title}, {measure}",
           places_table([p for p in points if p["measure"] == measure], what))


def loads_table(loads):
  return (["run", "others' processors", "steal"],
          [[load["run"], number(load["foreign_processors"]),
            f"{100 * load['steal']:.1f} %"] for load in loads])


def tables(results):
  """All Tables, with what of them was not measured above them."""
  of_docs = doc_tables.with_left_out(results)
  for name, title in TITLES:
    table, left_out = of_docs[name]
    if table[1]:
      yield Table(title, table, left_out or of_models(results, name))
  for drain_ns in drains_of(results):
    yield Table(f"{WITH_SPREADS}, {drain_ns} ns more a drain",
                *doc_tables.only_measured(all_schemes_table(results, drain_ns)))
  for figure, memory, points in figures(results):
    title, what = FIGURES[figure]
    for of_unit, table in figure_tables(f"{title}, {memory}", what, points):
      yield Table(of_unit, table)
  for model, (title, _, _) in MODELS.items():
    if results.get(model):
      whose = model_origin.whose(results, model)
      for table in views.tables_of(title, results[model]):
        yield table._replace(note=f"Not of this run: {whose}." if whose else "")
  if results["loads"]:
    yield Table("What else the machine did", loads_table(results["loads"]))


def of_models(results, table):
  """Whose results those in the table are that a model has computed."""
  return " ".join(f"{what} is not of this run: {whose}."
                  for model, (_, of, what) in MODELS.items() if table in of
                  and (whose := model_origin.whose(results, model)))


def not_there(results):
  """Tables of a whole run for which this one has no measurements, except the
  tables of marks, which are reported separately."""
  of_docs = doc_tables.all_tables(results)
  nothing = [title for name, title in TITLES
             if not of_docs[name][1] and not name.startswith(OF_MARKS)]
  known = {figure for figure, _, _ in figures(results)}
  if len(known) < len(FIGURES):
    nothing.append(f"{len(FIGURES) - len(known)} of {len(FIGURES)} figures")
  return nothing


def figures(results):
  """(figure, memory, points) of each that is known."""
  for figure in FIGURES:
    of_figure = [p for p in results["points"] if p["figure"] == figure]
    for memory in in_order(p["memory"] for p in of_figure):
      yield figure, memory, [p for p in of_figure if p["memory"] == memory]


# --- Plots.


def micros(drain_ns, row):
  """A place of a line: us a transaction, and between which they were."""
  rounds = [rate for rate in row.get("rounds", ()) if rate > 0]
  place = (drain_ns, 1e6 / row["ops_per_s"])
  return (*place, 1e6 / max(rounds), 1e6 / min(rounds)) if rounds else place


def line_of(points, series):
  return sorted((p["x"], p["value"], p["low"], p["high"]) for p in points
                if p["series"] == series)


def plots(results):
  """(Plot, how the titles of its tables begin) of each."""
  drains = drains_of(results)
  for title, workload, size in WORKLOADS:
    lines = {}
    for store in results["stores"]:
      rows = [(d, engine_row(results, d, store, workload, size))
              for d in drains]
      line = [micros(d, r) for d, r in rows
              if r is not None and r["ops_per_s"]]
      if len(line) > 1:
        lines[store] = line
    if lines:
      yield Plot(f"drains-{workload}-{size}", title, "ns more a drain",
                 "us a transaction", lines), WITH_SPREADS
  for figure, memory, points in figures(results):
    if figure in PLOTTED:
      # Only the first of several measures.
      title, what = FIGURES[figure]
      caption = f"{title}, {memory}"
      yield plot_of(
          f"{figure}-{re.sub('[^a-z0-9.]+', '-', memory)}", caption, what,
          [p for p in points if p["measure"] == points[0]["measure"]]), caption
  # Response times: one plot for all memories.
  for figure in OF_QUANTILES:
    points = [p for p in results["points"]
              if p["figure"] == figure and p["measure"] == "p50 ns"]
    if points:
      title, what = FIGURES[figure]
      yield plot_of(figure, f"{title}, p50", what, points), title


def plot_of(name, title, what, points):
  return Plot(name, title, what, points[0]["measure"],
              {key(series): line_of(points, series)
               for series in in_order(p["series"] for p in points)})


def with_plots(results):
  """The tables, and each plot before its first table, or behind all."""
  parts, left = [], list(plots(results))
  for table in tables(results):
    here = [one for one in left if table.title.startswith(one[1])]
    left = [one for one in left if one not in here]
    parts += [*(plot for plot, _ in here), table]
  return parts + [plot for plot, _ in left]


# --- The report.


def facts(results):
  """The facts, with the other load of the machine, on which all figures
  depend."""
  found = list(results["facts"].items())
  cache = results.get("last_level_cache")
  if cache:
    found.append(("last level cache, MiB", number(cache / doc_tables.MIB)))
  loads = [load["foreign_processors"] for load in results["loads"]]
  if loads:
    found.append(("others' processors, mean and most",
                  f"{number(sum(loads) / len(loads))}, {number(max(loads))}"))
  found += [(title, f"not of this run: {whose}" if whose else "of this run")
            for model, (title, _, _) in MODELS.items() if results.get(model)
            for whose in [model_origin.whose(results, model)]]
  found.append(("spread, (highest - lowest) / median",
                "; ".join(f"{name}: {100 * middle:.0f} % in the middle, above "
                          f"{100 * LARGE_SPREAD:.0f} % in {large} of {all_of}"
                          for name, middle, large, all_of in spreads(results))
                or "one round"))
  apart = between_speeds(results)
  if apart:
    found.append(("between speeds of memory, cached, which never drains",
                  f"{100 * apart[len(apart) // 2]:.0f} % apart in the middle, "
                  f"{100 * apart[-1]:.0f} % at most"))
  return found


def between_speeds(results):
  """How far medians of `cached` at several speeds are apart, by workload: as
  far as what is measured at two speeds cannot be compared. Ascending."""
  apart = []
  for _, workload, size in WORKLOADS:
    rows = [engine_row(results, drain_ns, "cached", workload, size)
            for drain_ns in drains_of(results)]
    rates = [row["ops_per_s"] for row in rows if row is not None]
    if len(rates) > 1:
      apart.append((max(rates) - min(rates)) / sorted(rates)[len(rates) // 2])
  return sorted(apart)


def spreads(results):
  """(what, the median, how many are large, of how many) of each kind."""
  kinds = (
      ("all schemes", [row["spread"] for row in results["engine"]
                       if len(row.get("rounds", ())) > 1]),
      ("figures", [(p["high"] - p["low"]) / abs(p["value"])
                   for p in results["points"]
                   if len(p.get("rounds", ())) > 1 and p["value"]]))
  for name, found in kinds:
    if found:
      yield (name, sorted(found)[len(found) // 2],
             sum(spread > LARGE_SPREAD for spread in found), len(found))


def warnings(results):
  """Warnings that precede all figures."""
  for name, _, large, all_of in spreads(results):
    if large > MANY * all_of:
      yield (f"Disturbed: {large} of {all_of} medians ({name}) are of rounds "
             f"that differ by more than {100 * LARGE_SPREAD:.0f} %. Times that "
             "are near to each other say nothing; counts do, but for those "
             "of Archapt, whose thread goes by times, too.")
  cache = results.get("last_level_cache") or 0
  if cache >= BEYOND_QUEUE and any(p["figure"] in OF_QUEUE
                                   for p in results["points"]):
    yield ("This machine's last level cache, of "
           f"{number(cache / doc_tables.MIB)} MiB, has room for all objects "
           "of a store in Archapt's figures 7 and 9, which its queue (19.25 "
           "MiB) has not: what the queue takes for evicted may be there, and "
           "fewer reads wait for memory than beyond a cache.")
  if results.get("part_of_a_run"):
    yield ("A part of a run (" + results["part_of_a_run"] + "): marks of what "
           "was not asked for are left out.")
    nothing = not_there(results)
    if nothing:
      yield ("Nothing was measured of, and there are no tables of: "
             + "; ".join(nothing) + ".")
  left_out = results.get("marks_left_out", 0)
  if left_out:
    yield f"{left_out} marks are of what this run did not measure."


def verdicts(results):
  """How many there are of each; of what is rare, where there are any."""
  found = [doc_tables.HOLDS[m["holds"]] for m in results["marks"]
           if m["target"]]
  return ", ".join(f"{found.count(word)} {word}" for word in (
      "met", "not met", "disturbed", "not judged", "undefined", "not measured")
      if word in found or word in ("met", "not met", "disturbed"))


def report(results):
  return page.Report("Atomicity schemes", facts(results), with_plots(results),
                     [LEGEND], list(warnings(results)))


def text(results):
  """The first tables, for a terminal; the page has the rest."""
  made = report(results)
  all_tables = made.tables()
  # Marks have more words than a terminal has room for.
  made.parts = [one for one in all_tables if " mark" not in one.title][:PRINTED]
  made.notes = ["", f"marks: {verdicts(results)}; "
                f"{max(len(all_tables) - PRINTED, 0)} more tables are on the "
                "page"]
  return page.text(made)


def prepare(results):
  """Results of earlier runs get the marks of today."""
  judge.judge(results)
