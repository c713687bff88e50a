"""The report of bench_engine."""

import re

from page import Report
from plots import Plot
from tables import Table, in_order, number, of_rows, percent

MIB = 1 << 20


def store_name(row):
  """A scheme, with its alpha where it has one, as in the tables."""
  if row.get("alpha") is None:
    return row["scheme"]
  return f"{row['scheme']}@{row['alpha']:g}"


def cell_name(row):
  size = f" {row['value_size']} B" if row["value_size"] else ""
  threads = "1 thread" if row["threads"] == 1 else f"{row['threads']} threads"
  return (f"{row['workload']} {row['distribution']}{size}, {threads}"
          f"{slower(row)}")


def file_name(title):
  return re.sub("[^a-z0-9]+", "-", title.lower())


def slower(row):
  return f", +{row['drain_ns']} ns a drain" if row.get("drain_ns") else ""


def ratio_to(store):
  return lambda row: row.get("ratio_to", {}).get(store)


COLUMNS = (
    ("", cell_name), ("scheme", store_name), ("tx/s", "ops_per_s"),
    ("spread", lambda r: percent(r.get("spread", 0))),
    ("/ kamino-simple", ratio_to("kamino-simple")),
    ("/ undo-object", ratio_to("undo-object")),
    ("p50 ns", "p50_ns"), ("p99 ns", "p99_ns"),
    ("fences/tx", "fences_per_tx"), ("lines/tx", "lines_flushed_per_tx"),
    ("storage MiB", lambda r: number(r["bytes_storage"] / MIB, 4)),
    ("hit rate", lambda r: percent(r.get("hit_rate"), 2)),
    ("retries/tx", "retries_per_tx"))


def with_rounds(x, row):
  """A bar: thousand transactions a second, and the ends of the rounds."""
  rounds = row["rounds"] or [row["ops_per_s"]]
  return x, row["ops_per_s"] / 1e3, min(rounds) / 1e3, max(rounds) / 1e3


def plot_of(rows):
  """Bars by what differs between the rows: threads, or the size of values."""
  first = rows[0]
  of_threads = len({row["threads"] for row in rows}) > 1
  of_sizes = len({row["value_size"] for row in rows}) > 1
  labels = {
      (True, True): ("value size, bytes x threads",
                     lambda r: f"{r['value_size']} x{r['threads']}"),
      (True, False): ("threads", lambda r: str(r["threads"]))}
  x_label, label = labels.get((of_threads, of_sizes), (
      "value size, bytes", lambda r: str(r["value_size"])))
  if not of_threads and not first["value_size"]:
    x_label, label = labels[True, False]
  title = f"{first['workload']}, {first['distribution']}{slower(first)}"
  return Plot(file_name(f"{first['suite']}-{title}"), title, x_label,
              "thousand transactions a second",
              {store: [with_rounds(label(row), row) for row in rows
                       if store_name(row) == store]
               for store in in_order(map(store_name, rows))}, "bars")


def plots(rows):
  """A plot for each workload, distribution and speed of memory."""
  def key(row):
    return row["workload"], row["distribution"], row.get("drain_ns", 0)
  return [plot_of([row for row in rows if key(row) == one])
          for one in in_order(map(key, rows))]


def kinds_table(suite, rows):
  """Latencies by kind of transaction; nothing where there are none."""
  def latency(kind):
    def cell(row):
      of = row["kinds"].get(kind)
      return of and f"{number(of['p50_ns'])} / {number(of['p99_ns'])}"
    return cell
  kinds = in_order(kind for row in rows for kind in row.get("kinds", {}))
  if kinds:
    yield Table(f"{suite}: latency by kind, ns: p50 / p99", of_rows(
        rows, [*COLUMNS[:2], *((kind, latency(kind)) for kind in kinds)], 1))


def breakdown(rows):
  """Where the time of a transaction goes: bars for each cell, and a table."""
  rows = sorted(rows, key=cell_name)
  steps = in_order(part for row in rows for part in row["parts_ns"])
  title = "Where the nanoseconds of a transaction go"
  for cell in in_order(map(cell_name, rows)):
    yield Plot(file_name(f"breakdown-{cell}"), f"{title}: {cell}",
               "ns a transaction", "",
               {step: [(store_name(row), row["parts_ns"][step]) for row in rows
                       if cell_name(row) == cell] for step in steps}, "stacked")
  if rows:
    yield Table(title, of_rows(rows, [
        *COLUMNS[:2],
        *((step, lambda r, step=step: r["parts_ns"][step]) for step in steps),
        ("together", "total_ns")], 1))


def report(results):
  rows = results["measurements"]
  parts = []
  for suite in in_order(row["suite"] for row in rows):
    chosen = [row for row in rows if row["suite"] == suite]
    parts += [*plots(chosen), Table(suite, of_rows(chosen, COLUMNS, 1)),
              *kinds_table(suite, chosen)]
  return Report(
      "Engine bench", list(results["facts"].items()),
      [*parts, *breakdown(results.get("breakdown", ()))],
      notes=["A bar is the median of the rounds; the line on it goes from the "
             "lowest to the highest. Ratios are of medians, within one cell. "
             "Spread is (highest - lowest) / median."])
