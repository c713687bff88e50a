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


def by_cell(rows):
  """The rows of each cell, by its name; by store within."""
  cells = {}
  for row in rows:
    cells.setdefault(cell_name(row), {})[store_name(row)] = row
  return cells


def times(cells, reference, ratio):
  """A line for each cell that has the reference, a column for each store."""
  cells = {name: cell for name, cell in cells.items() if reference in cell}
  stores = in_order(store for cell in cells.values() for store in cell
                    if store != reference)
  return ["", *stores], [
      [name, *(number(ratio(cell[reference], cell[store]))
               if store in cell else "-" for store in stores)]
      for name, cell in cells.items()]


def floor_table(suite, rows):
  """How far each store is from what the memory alone takes."""
  heads, lines = times(
      by_cell(rows), "floor",
      lambda floor, row: floor["ops_per_s"] / row["ops_per_s"])
  if lines:
    yield Table(f"{suite}: time over the floor's", (heads, lines),
                "The floor stores the data, a record with a hash and the undo "
                "copy, with one fence and without a store around them.")


def rivals_table(rows):
  """Kamino against maps of others."""
  heads, lines = times(
      by_cell(rows), "kamino-simple",
      lambda ours, row: ours["ops_per_s"] / row["ops_per_s"])
  yield Table("maps: throughput of kamino-simple over each map's",
              (heads, lines),
              "The map in the heading is the divisor. On tmpfs, fsync and "
              "msync do nothing: LMDB and RocksDB are not charged for them.")


def passes(points, mark):
  """The x at which lines through the points first reach the mark, or None."""
  for (x, y), (next_x, next_y) in zip(points, points[1:]):
    if y < mark <= next_y:
      return x + (next_x - x) * (mark - y) / (next_y - y)
  return points[0][0] if points[0][1] >= mark else None


def slower_memory(rows, rival="undo-object"):
  """Ratios over injected delays; nothing where all drains are alike."""
  ours = [row for row in rows if store_name(row) == "kamino-simple"
          and ratio_to(rival)(row) is not None]
  theirs = {(cell_name(row)): row for row in rows if store_name(row) == rival}
  if len({row.get("drain_ns", 0) for row in ours}) < 2:
    return
  def title(row):
    return cell_name({**row, "drain_ns": 0})
  lines = []
  series = {}
  for name in in_order(map(title, ours)):
    of_cell = sorted((row for row in ours if title(row) == name),
                     key=lambda row: row["drain_ns"])
    points = [(row["drain_ns"], ratio_to(rival)(row),
               *row.get("ratio_range", {}).get(rival, ())) for row in of_cell]
    series[name] = points
    at = passes([point[:2] for point in points], 2)
    first = of_cell[0]
    fences = first.get("fences_per_tx"), theirs[cell_name(first)].get(
        "fences_per_tx")
    lines.append([name, *(number(point[1]) for point in points),
                  "-" if at is None else f"{at:.0f} ns",
                  f"{number(fences[1])} : {number(fences[0])}"])
  delays = in_order(row["drain_ns"] for row in ours)
  yield Plot("slower-memory", f"kamino-simple's throughput over {rival}'s, by "
             "the injected delay of a drain", "injected delay of each drain, "
             "ns (simulated, not of this memory)", "ratio", series)
  yield Table(f"kamino-simple's throughput over {rival}'s, by injected delay",
              (["", *(f"+{delay} ns" for delay in delays), "2 is passed at",
                "fences"], lines),
              "Each drain takes that much longer, in both alike: a simulation. "
              "The ratio of fences is the limit for an infinite delay.")


def report(results):
  rows = results["measurements"]
  parts = [*slower_memory(rows)]
  for suite in in_order(row["suite"] for row in rows):
    chosen = [row for row in rows if row["suite"] == suite]
    parts += [*plots(chosen), *floor_table(suite, chosen),
              *(rivals_table(chosen) if suite == "maps" else ()),
              Table(suite, of_rows(chosen, COLUMNS, 1)),
              *kinds_table(suite, chosen)]
  return Report(
      "Engine bench", list(results["facts"].items()),
      [*parts, *breakdown(results.get("breakdown", ()))],
      notes=["A bar is the median of the rounds; the line on it goes from the "
             "lowest to the highest. Ratios are of medians, within one cell. "
             "Spread is (highest - lowest) / median."])
