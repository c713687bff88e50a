"""The tables of docs/use/schemes.md and lab/docs/schemes.md, of one run.

A page has a table between two lines: `<!-- schemes.json: NAME -->` and
`<!-- end -->`. `paste` puts what was measured there.
"""

import re

import compared
from engine_view import store_name
from marks import DISTURBED, UNDEFINED, UNJUDGED, Points
from tables import as_markdown, in_order, number

GIB, MIB = 1 << 30, 1 << 20
MS, US = 1e6, 1e3
HOLDS = {True: "met", False: "not met", None: "not measured", "": "-",
         DISTURBED: "disturbed", UNJUDGED: "not judged",
         UNDEFINED: "undefined"}
# Text of a mark without a range, by its number of rounds.
FEW = {0: "counted once", 1: "one round"}
# Names of the papers, and of the pages about them.
PAPERS = ("REWIND", "WrAP", "Archapt")

# A column of the tables of all schemes for each.
WORKLOADS = (("overwrite 64 B", "overwrite-bytes", 64),
             ("overwrite 1 KiB", "overwrite-bytes", 1024),
             ("overwrite 4 KiB", "overwrite-bytes", 4096),
             ("YCSB A", "ycsb-a", 1000), ("YCSB B", "ycsb-b", 1000),
             ("YCSB F", "ycsb-f", 1000), ("TPC-C mix", "tpcc-mix", 0))
SMALL, MIDDLE = WORKLOADS[0], WORKLOADS[1]
AS_IT_IS = "as it is"  # this machine's memory
DRAIN = " ns a drain"  # more than memory as it is
# Rivals in the papers' comparisons that are no choice for a user.
RIVALS = ("undo-each", "unsafe-each", "cached")
# Schemes that never flush: a caller cannot wait for durability.
NEVER_DURABLE = ("cached",)
# The cost of a crash. A scheme that is not listed loses no committed
# transaction.
CRASH = "what a crash can cost"
CRASH_COSTS = {
    "unsafe": "whatever was under way stays torn",
    "unsafe-each": "whatever was under way stays torn",
    "cached": "everything since an unknown time",
    "archapt": "commits that were not reported durable yet; an object for "
               "good, where its matrix cannot make it again",
}

PLACE = re.compile(r"(<!-- schemes\.json: ([a-z-]+) -->\n).*?(<!-- end -->)",
                   re.DOTALL)


# --- Finding what was measured.


def engine_row(results, drain_ns, store, workload, size):
  for row in results["engine"]:
    if (row["drain_ns"] == drain_ns
        and store_name(row).split("@")[0] == store
        and row["workload"] == workload and row["value_size"] == size
        and row["threads"] == 1):
      return row
  return None


def drains_of(results):
  return in_order(row["drain_ns"] for row in results["engine"])


def scaled(value, unit, digits=3):
  return "-" if value is None else number(value / unit, digits)


def joined(words):
  """Several in one cell; a dash, if there is nothing but dashes."""
  words = list(words)
  return "-" if set(words) <= {"-"} else ", ".join(words)


def whole(value):
  return "-" if value is None else f"{value:,.0f}"


def rate(results, store, workload, drain_ns=0):
  """Thousand a second."""
  row = engine_row(results, drain_ns, store, *workload[1:])
  return "-" if row is None else number(row["ops_per_s"] / 1e3)


def count(row, what):
  """Counts by transactions, and beside them; None: not counted."""
  if row is None or row.get(f"{what}_per_tx") is None:
    return None, None
  beside = row[f"background_{what}_per_tx"] or 0
  return row[f"{what}_per_tx"] - beside, beside


def counts(results, store, what, workloads):
  """Counts of transactions, by workload."""
  return joined(
      number(count(engine_row(results, 0, store, *w[1:]), what)[0])
      for w in workloads)


def of_data(results, store, measure):
  """(value, bytes of data it is of)."""
  for point in results["points"]:
    if (point["figure"] == "data" and point["measure"] == measure
        and point["series"].split("@")[0] == store):
      return point["value"], point["x"]
  return None, None


def data_bytes(results):
  return next((p["x"] for p in results["points"] if p["figure"] == "data"),
              None)


def a_gib(results, store, measure):
  """The value for a GiB of data, in proportion where less was measured."""
  value, data = of_data(results, store, measure)
  return None if value is None else value * GIB / data


# --- Of parts of a run.


def only_measured(table, known=()):
  """The table without lines and columns that have no measurements, and a
  sentence that names these, "" where there are none.

  Args:
    table: its first column has names.
    known: heads of columns that are never measured: no sentence names them.
  """
  heads, lines = table
  measured = [i for i, head in enumerate(heads) if i and head not in known]
  kept = [line for line in lines if any(line[i] != "-" for i in measured)]
  empty = [i for i in measured if all(line[i] == "-" for line in kept)]
  left = [f"the {what} {', '.join(f'{name!r}' for name in names)}"
          for what, names in (
              ("columns", [heads[i] for i in empty]),
              ("lines", [line[0] for line in lines if line not in kept]))
          if names]
  return (_without(heads, empty), [_without(line, empty) for line in kept]), (
      f"Not measured, and left out: {', and '.join(left)}." if left else "")


def _without(words, left_out):
  return [word for i, word in enumerate(words) if i not in left_out]


# --- docs/use/schemes.md


def speed_table(results):
  """The main figures of each scheme."""
  points = Points(results["points"])
  drains = drains_of(results)
  slower = [drain_ns for drain_ns in drains[-1:] if drain_ns > 0]
  heads = ["thousand a second", "64 B", "1 KiB", "YCSB A", "YCSB B",
           "TPC-C mix", *(f"1 KiB, drains {slow} ns slower" for slow in slower),
           "us to the commit: p50, p99", "us until durable: p50"]
  lines = []
  for store in chosen(results):
    def us(measure, store=store):
      return scaled(points.value("durable", store, measure, AS_IT_IS), US)
    lines.append([
        store,
        *(rate(results, store, w) for w in
          (SMALL, MIDDLE, WORKLOADS[3], WORKLOADS[4], WORKLOADS[6])),
        *(rate(results, store, MIDDLE, slow) for slow in slower),
        joined((us("p50 ns to the commit"), us("p99 ns to the commit"))),
        us("p50 ns until durable")])
  return heads, lines


def recovery_of(points, figure, store):
  """Time that opening takes longer after a crash than after a close."""
  crash = points.value(figure, store, "ns after a crash")
  close = points.value(figure, store, "ns after a close")
  return None if crash is None or close is None else max(0, crash - close)


def price_table(results):
  """Costs of each scheme: of the medium, of memory and at a crash."""
  points = Points(results["points"])
  data = data_bytes(results)
  # Names the size unless the whole objects fill about one GiB.
  a_gib_itself = data is None or abs(data / GIB - 1) < 0.01
  part = "" if a_gib_itself else f", by {number(data / MIB)} MiB"
  heads = ["", "fences: 64 B, 1 KiB", "lines: 64 B, 1 KiB",
           "lines beside: 1 KiB", f"persistent GiB for a GiB of data{part}",
           f"DRAM MiB for it{part}",
           f"ms to open it: after a close, after a crash{part}",
           "ms more after a crash, log full", CRASH]
  lines = []
  for store in chosen(results):
    row = engine_row(results, 0, store, *MIDDLE[1:])
    more = [recovery_of(points, figure, store)
            for figure in ("recovery-committed", "recovery-open")]
    full = max((m for m in more if m is not None), default=None)
    lines.append([
        store, counts(results, store, "fences", (SMALL, MIDDLE)),
        counts(results, store, "lines_flushed", (SMALL, MIDDLE)),
        number(count(row, "lines_flushed")[1]),
        scaled(a_gib(results, store, "bytes of persistent memory"), GIB),
        scaled(a_gib(results, store, "bytes of DRAM"), MIB),
        joined(scaled(a_gib(results, store, "ns to open" + crash), MS)
               for crash in ("", " after the crash")),
        scaled(full, MS),
        CRASH_COSTS.get(store, "nothing that has committed")])
  return heads, lines


def chosen(results):
  return [store for store in results["stores"] if store not in RIVALS]


# --- lab/docs/schemes.md


def rates_table(results):
  drains = drains_of(results)
  ends = [drains[0], drains[-1]] if len(drains) > 1 else drains
  heads = ["thousand a second, " + " and ".join(f"{d} ns" for d in ends)
           + " more a drain", *(w[0] for w in WORKLOADS)]
  lines = [[store,
            *(joined(rate(results, store, w, d) for d in ends)
              for w in WORKLOADS)]
           for store in results["stores"]]
  return heads, lines


def sums_of(results, store):
  """Bytes of sums over the records that the table of all schemes has, while
  transactions go on: where storage is looked at they are gone. The quick
  scale's table has fewer records."""
  if results["facts"].get("scale") == "quick":
    return None
  return Points(results["points"]).value("archapt-9", f"{store}, ycsb-a",
                                         "bytes of sums")


def with_sums(storage, sums):
  return None if storage is None else storage + (sums or 0)


def counts_table(results):
  heads = ["", "fences: 64 B, 1 KiB, 4 KiB", "lines", "lines beside",
           "storage of the records, MiB", "of that the log", "of that sums"]
  lines = []
  for store in results["stores"]:
    ycsb = engine_row(results, 0, store, "ycsb-a", 1000) or {}
    beside = joined(
        number(count(engine_row(results, 0, store, *w[1:]),
                     "lines_flushed")[1]) for w in WORKLOADS[:3])
    sums = sums_of(results, store)
    lines.append([
        store, counts(results, store, "fences", WORKLOADS[:3]),
        counts(results, store, "lines_flushed", WORKLOADS[:3]), beside,
        scaled(with_sums(ycsb.get("bytes_storage"), sums), MIB),
        scaled(ycsb.get("bytes_log"), MIB), scaled(sums, MIB)])
  return heads, lines


def wraps_table(results):
  """WrAP's figure 6, for all stores in it."""
  points = Points(results["points"])
  series = in_order(p["series"] for p in results["points"]
                    if p["figure"] == "wrap-6")
  return (["100 wraps of 20 words", "drains", "lines", "drains beside",
           "lines beside"],
          [[one, *(whole(points.value("wrap-6", one, measure))
                          for measure in ("drains", "lines", "drains beside",
                                          "lines beside"))]
           for one in series])


def recovery_table(results):
  points = Points(results["points"])
  heads = ["opens in ms", "after a close", "log full of committed",
           "transactions", "done again", "taken back", "of an open one",
           "MiB of that", "objects lost"]
  lines = []
  for store in results["stores"]:
    def value(measure, figure="recovery-committed", store=store):
      return points.value(figure, store, measure)
    if value("ns after a crash") is None:
      continue
    lost = [n for n in (value("lost", figure) for figure in (
        "recovery-committed", "recovery-open")) if n is not None]
    lines.append([
        store, scaled(value("ns after a close"), MS),
        scaled(value("ns after a crash"), MS),
        *(whole(value(what)) for what in
          ("transactions committed", "replayed", "rolled back")),
        scaled(value("ns after a crash", "recovery-open"), MS),
        scaled(value("bytes open", "recovery-open"), MIB),
        whole(sum(lost) if lost else None)])
  return heads, lines


def durable_table(results):
  points = Points(results["points"])
  slow = next((p["memory"] for p in results["points"]
               if p["figure"] == "durable" and p["memory"].endswith(DRAIN)),
              None)
  heads = ["", "us to the commit: p50, p99", "us until durable: p50, p99",
           *([f"the same, {slow.removesuffix(DRAIN)} ns more a drain"]
             if slow else []),
           "transactions behind: p50, p99", "lines, each waited for"]
  lines = []
  for store in results["stores"]:
    def both(measure, unit=1, memory=AS_IT_IS, store=store):
      return joined(
          scaled(points.value("durable", store, f"{q} {measure}", memory), unit)
          for q in ("p50", "p99"))
    if points.value("durable", store) is None:
      continue
    never = store in NEVER_DURABLE
    row = engine_row(results, 0, store, *MIDDLE[1:])
    # Where every commit is durable, waiting makes no difference.
    lines_of = points.value("durable", store, "lines, each waited for")
    if lines_of is None and row is not None:
      lines_of = row["lines_flushed_per_tx"]
    lines.append([store, both("ns to the commit", US),
                  "never" if never else both("ns until durable", US),
                  *(["never" if never else both("ns until durable", US, slow)]
                    if slow else []),
                  "-" if never else both("transactions behind"),
                  number(lines_of)])
  return heads, lines


def skipped_table(results):
  """Archapt's figure 9, beside its rivals."""
  measures = ("lines", "lines with what was left", "lines skipped",
              "lines replaced", "lines of sums", "matrices",
              "matrices dissolved", "drains")
  found = [p for p in results["points"] if p["figure"] == "archapt-9"]
  points = Points(found)
  lines = []
  for series, x in in_order((p["series"], p["x"]) for p in found):
    lines.append([f"{series}, {x:g} B",
                  *(number(points.value("archapt-9", series, m, x=x))
                    for m in measures)])
  return ["of a transaction", *measures], lines


def low_to_high(low, high, digits=3):
  """A dash where all rounds came to the same, or there was one."""
  if low is None or high is None or low == high:
    return "-"
  return f"{number(low, digits)} to {number(high, digits)}"


def verdict(mark):
  """The verdict; when there is none, the number of rounds that are too few."""
  word = HOLDS[mark["holds"]]
  if mark["holds"] != UNJUDGED:
    return word
  return f"{word}: " + FEW.get(mark["rounds"], f"{mark['rounds']} rounds")


def of_rounds(mark):
  """The range of the rounds, or why there is none."""
  if mark["here"] is not None and mark["low"] is None:
    if mark["rounds"] in FEW:
      return FEW[mark["rounds"]]
  return low_to_high(mark["low"], mark["high"])


def here(mark):
  value = mark["here"]
  return value if isinstance(value, str) else number(value)


def here_with_rounds(mark):
  rounds = low_to_high(mark["low"], mark["high"])
  return here(mark) if rounds == "-" else f"{here(mark)} ({rounds})"


def marks_table(marks):
  def remark(mark):
    why = f"known reason: {mark['reason']}" if mark["reason"] else (
        "why is not known" if mark["holds"] is False else "")
    return "; ".join(text for text in (mark["note"], why) if text)
  return (["mark", "verdict", "here", "rounds: low to high", "to be met",
           "the paper", "beside it"],
          [[m["name"], verdict(m), here(m), of_rounds(m), m["target"] or "-",
            m["paper"], remark(m)] for m in marks])


def with_left_out(results):
  """Name to (table, what of it was not measured, in a sentence); tables of
  which nothing was measured have no lines."""
  tables = {
      "speed": speed_table(results), "price": price_table(results),
      "rates": rates_table(results), "counts": counts_table(results),
      "wraps": wraps_table(results), "recovery": recovery_table(results),
      "durable": durable_table(results), "skipped": skipped_table(results)}
  found = {name: only_measured(table, known=(CRASH,))
           for name, table in tables.items()}
  for paper in PAPERS:
    of_paper = [m for m in results["marks"] if m["name"].startswith(paper)]
    found[f"marks-{paper.lower()}"] = marks_table(
        [m for m in of_paper if m["target"]]), ""
    found[f"compared-{paper.lower()}"] = compared.table(
        [m for m in of_paper if not m["target"]], here_with_rounds), ""
  return found


def all_tables(results):
  return {name: table for name, (table, _) in with_left_out(results).items()}


# --- Pages.


def places(page):
  """Names of the tables that a page has a place for."""
  return [found[1] for found in PLACE.findall(page)]


def paste(page, results):
  """The page with the results in its places.

  KeyError: a place names no table. ValueError: a place names a table without
  measurements.
  """
  tables = all_tables(results)
  for name in places(page):
    if not tables[name][1]:
      raise ValueError(f"nothing of the table '{name}' was measured; documents "
                       "have those of a whole run")
  return PLACE.sub(
      lambda found: (f"{found[1]}\n{as_markdown(tables[found[2]])}\n"
                     f"{found[3]}"), page)
