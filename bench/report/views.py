"""Reports of the benches that need few words, and of any other bench.

Each function makes a Report of results (results.py).
"""

import results as form
from page import Report
from plots import Plot
from tables import Table, as_cell, in_order, number, of_fields, of_rows

HOLDS = {True: "met", False: "not met", None: "not measured"}
US = 1e3  # ns
# Flags that say where the results go.
OUTPUT = ("out", "json", "plot")


def settings(results):
  """The facts, and below them the flags of the run."""
  return [*results["facts"].items(),
          *((name, as_cell(value))
            for name, value in results.get("settings", {}).items()
            if name not in OUTPUT)]


def target_table(results):
  return Table("Targets", of_rows(results["targets"], (
      ("", "what"), ("wanted", "wanted"), ("measured", "measured"),
      ("", lambda r: HOLDS[r["met"]]))))


def between(values):
  return f"{number(min(values))} to {number(max(values))}"


def points_of(rows, x, figure, label):
  """Points by series of the figures that the rows have."""
  return {name: [(x(row), row[figure] / US) for row in rows
                 if label(row) == name]
          for name in in_order(label(r) for r in rows
                               if r[figure] is not None)}


# --- Failover.


def failover(results):
  rows = results["measurements"]
  parts = [Table("Figures", of_rows(rows, (
      ("", "name"), ("median", "median"),
      ("rounds", lambda r: between(r["rounds"])),
      ("target", "target"), ("", "unit"), ("", "note"))))]
  stops = [row for row in rows if row["name"].startswith("stop ")
           and ": without a " in row["name"]]
  if stops:
    # "stop head: without a write for"
    names = [row["name"].replace(": without a ", ", ").replace(" for", "s")
             for row in stops]
    parts.insert(0, Plot(
        "stops", "Planned stops: a point for each round",
        "longest time without a write or a read, ms", "",
        dict(zip(names, (row["rounds"] for row in stops))), "dots",
        next((row["target"] for row in stops if row["target"]), None)))
  return Report("Failover bench", settings(results), parts)


# --- Transport.


def transport(results):
  rows = results["measurements"]
  columns = [("bytes", lambda r: str(r["bytes"])), ("link", "link")]
  for head, field in (("round trip", "round_trip"), ("one way", "one_way")):
    for quantile in ("p50", "p99"):
      columns.append((f"{head} us, {quantile}",
                      lambda r, name=f"{field}_{quantile}_ns":
                      None if r[name] is None else r[name] / US))
  columns += [("messages a second", "messages_per_s"),
              ("round trip / bare epoll", "round_trip_to_bare_epoll")]
  parts = [Plot(name, f"{title}, p50", "message size, bytes", "time, us",
                points_of(rows, lambda r: r["bytes"], f"{field}_p50_ns",
                          lambda r: r["link"]))
           for name, title, field in (
               ("round-trip", "Round trips", "round_trip"),
               ("one-way", "One way", "one_way"))]
  parts = [plot for plot in parts if plot.series]
  parts.append(Table("Links", of_rows(rows, columns, 1)))
  parts.append(Table("Idle", of_rows(results["idle"], (
      ("link", "link"), ("part of a processor", "cpu_fraction")))))
  return Report("Transport bench", settings(results),
                [*parts, target_table(results)])


# --- Connections.


def connections(results):
  rows = results["measurements"]
  ratios = {what: [(row["measure"], row[f"{what}_ratio"],
                    min(row[f"{what}_ratios"]), max(row[f"{what}_ratios"]))
                   for row in rows] for what in ("puts", "gets")}
  return Report("Connections bench", settings(results), [
      Plot("speed", "Operations of another client beside the connections",
           "kind of connection", "speed / speed without them", ratios, "bars"),
      Table("Figures", of_fields(rows)), target_table(results)])


# --- Any other.


def numeric_plot(name, title, table):
  """A plot of a table of figures: lines by the first column if this has
  numbers, else bars. None: its cells are not all numbers."""
  heads, rows = table["columns"], table["rows"]
  cells = [cell for row in rows for cell in row[1:]]
  if not cells or any(isinstance(cell, str) for cell in cells):
    return None
  first = [row[0] for row in rows]
  try:
    places, kind = [float(str(x).rstrip("x")) for x in first], "lines"
  except ValueError:
    places, kind = first, "bars"
  series = {head: [(x, row[i]) for x, row in zip(places, rows)]
            for i, head in enumerate(heads) if i > 0}
  return Plot(name, title, heads[0], table["title"], series, kind)


def tables_of(title, results):
  """Tables of what a program wrote: laid out by itself, or its rows.

  Args:
    title: stands before the titles of all tables; "" on the program's own page.
    results: of the program, or a list of rows.
  """
  before = title and f"{title}: "
  found = results if isinstance(results, dict) else {"rows": results}
  marks = []
  for name, rows in form.tables_of(found):
    if name != "figures":
      yield Table(title if title and name == "rows" else before + name,
                  of_fields(rows))
  for figure in found.get("figures", ()):
    for table in figure["tables"]:
      yield Table(f"{before}{figure['title']}, {table['title']}",
                  (table["columns"], [[as_cell(cell) for cell in row]
                                      for row in table["rows"]]))
    marks += [[figure["title"], mark["name"], HOLDS.get(mark["holds"], "-"),
               mark["here"], mark["paper"]] for mark in figure["marks"]]
  if marks:
    yield Table(f"{before}marks",
                (["", "mark", "verdict", "here", "the paper"], marks))


def any_bench(results):
  """All tables that the results have; a plot of each that is of figures."""
  title = f"{results['bench'].capitalize().replace('_', ' ')} bench"
  plots = [numeric_plot(f"{figure['figure']}-{i}", figure["title"], table)
           for figure in results.get("figures", ())
           for i, table in enumerate(figure["tables"], 1)]
  return Report(title, settings(results),
                [*filter(None, plots), *tables_of("", results)])
