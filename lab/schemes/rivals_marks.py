"""Marks of WrAP and of Archapt (marks.py)."""

from marks import (UNDEFINED, Note, is_number, less, mark, mean, percent,
                   ratio, reason_of)

WRAPS, STORES = 100, 20
# Inconsistent objects of 100 crashes (its table 4, Redis).
INCONSISTENT = {"a": 901, "b": 0, "d": 0, "e": 1024, "f": 295}


# --- WrAP, as far as the functional scheme has it.


def of_wrap(points):
  def count(store, measure):
    return points.value("wrap-6", store, measure)

  name = "WrAP fig. 6: "
  yield mark(name + "drains of 100 wraps, wrap", "100", "100",
             count("wrap", "drains"), lambda v: v == WRAPS)
  yield mark(name + "log lines in the foreground, wrap", "under 1000", "<= 600",
             count("wrap", "lines"), lambda v: v <= 600)
  yield mark(name + "lines home, beside, wrap", "2000", "2000, +-5 %",
             count("wrap", "lines beside"), lambda v: abs(v - 2000) <= 100)
  yield mark(name + "drains, undo-each", "4000", "4000, +-5 %",
             count("undo-each", "drains"), lambda v: abs(v - 4000) <= 200,
             Note("undo-own has {}, with Declare {}",
                  count("undo-own", "drains"),
                  count("undo-own, declared", "drains")))
  yield mark(name + "drains, unsafe", "100", "100", count("unsafe", "drains"),
             lambda v: v == WRAPS)
  for figure, what in (("wrap-8", "20 scattered words"),
                       ("wrap-13", "20 inserts into a tree")):
    for memory in points.memories(figure) or ["as it is"]:
      def p50(store, figure=figure, memory=memory):
        return points.value(figure, store, "p50 ns", memory=memory)

      name = f"WrAP fig. {figure[5:]}, {what}, {memory}: "
      yield mark(name + "p50, wrap over unsafe", "less", "<= 1",
                 ratio(p50("wrap"), p50("unsafe")), lambda v: v <= 1)
      yield mark(name + "p50, undo-each over wrap", "2 to 3", ">= 2",
                 ratio(p50("undo-each"), p50("wrap")), lambda v: v >= 2,
                 "a weak rival, the paper's")
      for rival in ("undo-own", "undo-own, declared"):
        # A tree does not know beforehand what it will store to.
        if figure == "wrap-8" or rival == "undo-own":
          yield mark(name + f"p50, {rival} over wrap", "-", "",
                     ratio(p50(rival), p50("wrap")))
      yield mark(name + "p50, wrap over cached", "near", "",
                 ratio(p50("wrap"), p50("cached")))
  for inserts, _ in points.line("wrap-14", "unsafe", "300 ns a line and drain",
                                "p50 ns"):
    def p50(store, inserts=inserts):
      return points.value("wrap-14", store, "p50 ns", x=inserts)
    yield mark(f"WrAP fig. 14, {inserts:.0f} inserts: p50, wrap over unsafe",
               "near", "", ratio(p50("wrap"), p50("unsafe")))


# --- Archapt.


RECORD = 1000  # bytes of one of YCSB's
WATCHED = "as it is, libpmem watched"
LEAST_FEWER = 40  # percent of lines
# Percent of the time. What is done more takes no less; a percent is nothing.
LEAST_SHARE = -1
WRITING = "abdef"  # workloads of YCSB
# Lines of a transaction, without and with those that it has put off.
NOBODY_WAITS = (
    ("without waits", "lines"),
    ("without waits, all flushed in the end", "lines with what was left"))


def engine_value(engine, workload, store, field, size=None):
  """A field of bench_engine's row, on one thread and this machine's memory."""
  for row in engine:
    if (row["drain_ns"] == 0 and row["workload"] == workload
        and row["threads"] == 1 and row["scheme"] == store
        and (size is None or row["value_size"] == size)):
      return row[field]
  return None


def rate(points, store, workload, size):
  """Where there is more than the queue holds, and transactions go on."""
  return points.value("archapt-7", f"{store}, {workload}",
                      "transactions a second", x=size)


def gap_closed(points, size):
  """(archapt - undo) / (unsafe - undo), in throughput."""
  ours, undo, free = (rate(points, store, "overwrite", size)
                      for store in ("archapt", "undo-object", "unsafe"))
  if None in (ours, undo, free):
    return None
  if free <= undo:
    return UNDEFINED
  return (ours - undo) / (free - undo)


def no_gap(points, size):
  return ("unsafe is not ahead of undo-object; "
          if gap_closed(points, size) == UNDEFINED else "")


def over(points, rival, workload, size):
  return ratio(rate(points, "archapt", workload, size),
               rate(points, rival, workload, size))


def of_archapt(points, engine):
  yield from logging(points)
  yield from reuse(points)
  yield from flushes(points)
  name = "Archapt fig. 7: "
  for size in (1024, 4096):
    yield mark(name + f"part of the gap closed, {size} B written whole",
               "up to 0.73", ">= 0.5", gap_closed(points, size),
               lambda v: v >= 0.5, Note(
                   no_gap(points, size) + "throughput over undo-own's: {}",
                   over(points, "undo-own", "overwrite", size)))
  for size in (1024, 4096):
    hot = ratio(*(engine_value(engine, "overwrite-bytes", store, "ops_per_s",
                               size) for store in ("archapt", "undo-object")))
    yield mark(name + f"throughput, archapt over undo-object, {size} B in the "
               "cache", "-", "", hot)
  for letter in "abdef":
    workload = f"ycsb-{letter}"
    yield mark(name + f"throughput, archapt over undo-object, {workload}",
               "1.22 on average, up to 1.36", "",
               over(points, "undo-object", workload, RECORD),
               note=Note("over undo-own: {}",
                         over(points, "undo-own", workload, RECORD)))
  same = over(points, "undo-object", "ycsb-c", RECORD)
  yield mark(name + "throughput, archapt over undo-object, ycsb-c", "0.99",
             ">= 0.99", same, lambda v: v >= 0.99)

  for size in (64, 1024, 4096):
    yield mark(f"Archapt: part of a transaction that checks and sums are, "
               f"{size} B, %", "under 5", "< 5",
               points.value("archapt-sums", "archapt",
                            "% of the time by checking", x=size),
               lambda v: v < 5,
               Note("of processors' time, sums being made beside: {}",
                    points.value("archapt-sums", "archapt",
                                 "% of processors' time by checking", x=size)),
               LEAST_SHARE)

  def durable(store, measure):
    return points.value("durable", store, measure, "as it is")

  yield mark("Archapt fig. 8: p99 to the logical commit, archapt over "
             "undo-object", "0.93", "<= 1",
             ratio(durable("archapt", "p99 ns to the commit"),
                   durable("undo-object", "p99 ns to the commit")),
             lambda v: v <= 1,
             Note("until durable, p50: {} ms, transactions behind: {}",
                  ms(durable("archapt", "p50 ns until durable")),
                  durable("archapt", "p50 transactions behind")))


def logging(points):
  for size in (64, 256, 1024, 4096):
    def time(series, size=size):
      return points.value("archapt-1-2", series, x=size)

    loss = less(time("unsafe"), time("undo-object"))
    yield mark(f"Archapt fig. 1, {size} B: throughput lost by logging, "
               "undo-object beside unsafe, %", "8 to 49", "",
               percent(loss))
    # Through the library that leaves flushes out, all three.
    whole, bare, dropped = (
        points.value("archapt-1-2", series, memory=WATCHED, x=size)
        for series in ("undo-object", "cached", "undo-object, nothing flushed"))
    share, note = None, ""
    if None not in (whole, bare, dropped):
      share = 100 * (whole - dropped) / (whole - bare) if whole > bare else (
          UNDEFINED)
      note = "" if whole > bare else "undo-object takes no more than cached"
    yield mark(f"Archapt fig. 2, {size} B: part of that by persisting, %",
               "56 to 78", "", share, note=note)


def reuse(points):
  for letter in "abdef":
    at_most = [points.value("archapt-3", f"ycsb-{letter}", x=x)
               for x in (0, 1, 2)]
    if letter == "e":
      few = None if None in at_most else 100 * (1 - at_most[0] - at_most[1])
      yield mark("Archapt fig. 3, ycsb-e: objects used twice and more, %",
                 "89", "", few)
    else:
      few = None if None in at_most else 100 * sum(at_most)
      yield mark(f"Archapt fig. 3, ycsb-{letter}: objects used twice at most, "
                 "%", "78", "", few)
  for workload in ("ycsb-a", "ycsb-b", "ycsb-d", "ycsb-e", "ycsb-f",
                   "tpcc-mix"):
    before = points.value("archapt-table-1", f"undo-own, {workload}")
    yield mark(f"Archapt table 1, {workload}: part of a flushed line that is "
               "new", "0.31 to 0.56", "", before,
               note=Note("archapt: {}", points.value(
                   "archapt-table-1", f"archapt, {workload}")))
  yield dirtier(points)


def percent_more(after, before):
  part = ratio(after, before)
  return 100 * (part - 1) if is_number(part) else part


def dirtier(points):
  """By how much more of a flushed line is new."""
  both = [[points.value("archapt-table-1", f"{store}, {workload}")
           for store in ("undo-own", "archapt")]
          for workload in (*(f"ycsb-{letter}" for letter in WRITING),
                           "tpcc-mix")]
  more, note = None, ""
  if not any(None in pair for pair in both):
    more = mean(100 * (after - before) for before, after in both)
    note = Note("in proportion {} % more", mean(
        percent_more(after, before) for before, after in both), places=1)
  return mark("Archapt fig. 10: part of a flushed line that is new, archapt's "
              "less undo-own's, mean of YCSB and TPC-C, % points",
              "12; E 17", ">= 12", more, lambda v: v >= 12, note)


def fewer_of_ycsb(lines):
  """Figure 9 as the paper sums it up: its mean, and where it is least."""
  def parts(rival, measure):
    return {letter: percent(less(
        lines("archapt", f"ycsb-{letter}", RECORD, measure),
        lines(rival, f"ycsb-{letter}", RECORD))) for letter in WRITING}

  for name, measure in NOBODY_WAITS:
    found = parts("undo-object", measure)
    begin = "Archapt fig. 9, YCSB, 1000 B: lines less than undo-object's, "
    yield mark(begin + f"mean, {name}, %", "66", ">= 66", mean(found.values()),
               lambda v: v >= 66, Note(
                   "than undo-own's, which logs what is written and no more: "
                   "{} %", mean(parts("undo-own", measure).values()), places=1))
    yield mark(begin + f"least on E, {name}: E's less the least of others, % "
               "points", "least on E", "<= 0", of_e(found), lambda v: v <= 0,
               "" if None in found.values() else Note(
                   ", ".join(f"{letter.upper()} {{}}" for letter in found),
                   *found.values(), places=0))


def of_e(found):
  """The value of E less the least of the others."""
  if mean(found.values()) in (None, UNDEFINED):
    return mean(found.values())
  return found["e"] - min(part for letter, part in found.items()
                          if letter != "e")


def flushes(points):
  def lines(store, workload, size, measure="lines"):
    return points.value("archapt-9", f"{store}, {workload}", measure, x=size)

  def fewer(name, ours, workload, size, least):
    value = percent(less(ours, lines("undo-object", workload, size)))
    own = percent(less(ours, lines("undo-own", workload, size)))
    return mark(f"Archapt fig. 9, {workload}, {size} B: lines less than "
                f"undo-object's, {name}, %", "66 on average, least on E",
                f">= {LEAST_FEWER}" if least else "", value,
                (lambda v: v >= LEAST_FEWER) if least else None,
                Note("than undo-own's: {} %", own, places=1))

  yield from fewer_of_ycsb(lines)
  yield fewer("each waited for",
              points.value("durable", "archapt", "lines, each waited for"),
              "overwrite", 1024, True)
  for workload, size in (("overwrite", 1024), ("overwrite", 256),
                         ("overwrite", 4096),
                          ("overwrite, zipfian", 1024), ("ycsb-a", RECORD),
                         ("ycsb-b", RECORD), ("ycsb-d", RECORD),
                         ("ycsb-e", RECORD), ("ycsb-f", RECORD)):
    least = (workload, size) == ("overwrite", 1024)
    for name, measure in NOBODY_WAITS:
      yield fewer(name, lines("archapt", workload, size, measure), workload,
                  size, least)


def ms(nanos):
  return None if nanos is None else nanos / 1e6


def of_crashes(model):
  """Marks of bench_crash_model's rows; None: it was not run."""
  rows = model["rows"] if model else []
  exact = [row for row in rows if row["queue"] == 1]

  def total(field, among=None):
    among = exact if among is None else among
    return sum(row[field] for row in among) if among else None

  name = "Archapt table 4"
  for letter, inconsistent in INCONSISTENT.items():
    row = next((r for r in exact if r["workload"] == f"ycsb-{letter}"), None)
    yield mark(f"{name}, ycsb-{letter}: inconsistent objects of 100 crashes",
               str(inconsistent), "0" if inconsistent == 0 else "",
               None if row is None
               else 100 * row["inconsistent"] / row["crashes"],
               (lambda v: v == 0) if inconsistent == 0 else None,
               note="" if row is None
               else Note("in {}: {}, of these repaired {}, reported as lost "
                         "{}", *(row[field] for field in (
                             "crashes", "inconsistent", "repaired", "lost"))))
  none = "no object was inconsistent" if total("inconsistent") == 0 else ""
  yield mark(f"{name}: of these found, %", "100", "100",
             percent(ratio(total("found"), total("inconsistent"))),
             lambda v: v == 100, none)
  yield mark(f"{name}: of these repaired, %", "100", "",
             percent(ratio(total("repaired"), total("inconsistent"))),
             note=none or "the others are reported as lost")
  yield mark(f"{name}: wrong and not reported, or reported and not wrong", "0",
             "0", None if not rows
             else total("wrong", rows) + total("lost_needlessly", rows),
             lambda v: v == 0)
  for queue in sorted({row["queue"] for row in rows} - {1}):
    chosen = [row for row in rows if row["queue"] == queue]
    yield mark(f"{name}, a queue of {queue:g} caches: inconsistent objects of "
               "100 crashes, all workloads", "-", "",
               sum(100 * row["inconsistent"] / row["crashes"]
                   for row in chosen))


# --- WrAP's timing model.


def of_model(model):
  """The verdicts that the model has found itself. They are settled: each run
  comes to the same. None: it was not run."""
  name = "WrAP's timing model, "
  read = model if isinstance(model, dict) else {}
  scale = read.get("facts", {}).get("scale", "unknown")
  found = [(figure, one) for figure in read.get("figures", ())
           for one in figure["marks"]]
  for figure, one in found:
    number = figure["figure"]
    where = f"fig. {number}" if number.isdigit() else number
    yield settled_mark(f"{name}{where}: {one['name']}", one["paper"],
                       one["here"], one["holds"],
                       "" if scale == "full" else f"scale: {scale}")
  if not found:
    yield settled_mark(name + "fig. 5, 7, 9 to 12", "-", None, None,
                       "its part, `model`, was not run" if model is None
                       else "what was given has no marks")


def settled_mark(name, paper, here, holds, note=""):
  return {"name": name, "paper": paper, "target": "as named", "here": here,
          "low": None, "high": None, "rounds": None, "holds": holds,
          "note": note, "reason": reason_of(name) if holds is False else ""}


def of(points, engine, crash_model=None):
  return [*of_wrap(points), *of_archapt(points, engine),
          *of_crashes(crash_model)]
