#!/usr/bin/env python3
"""Makes tables and plots of what bench-chain has measured.

    chain_report.py chain.json FOLDER

writes FOLDER/chain.html (all of it; needs nothing but itself), chain.md (the
tables, as docs have them) and chain-*.svg (the plots alone). Exits with 0, 1
when a file cannot be read or written, 2 when the words are wrong.
"""

import html
import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "service"))
# pylint: disable=wrong-import-position
import figures
import report
from plots import engine_report, number

in_order = engine_report.in_order
COLOURS = {"kamino": "#1b6ca8", "kamino-simple": "#5aa9d6",
           "traditional-log": "#c0392b", "traditional-dynamic": "#e08e79",
           "images": "#5b8c3a"}
OTHERS = ["#8e6c2f", "#7d5ba6", "#444444", "#8a8a8a"]
HOLDS = {True: "yes", False: "no", None: "not measured"}
SUITES = {"ycsb": "YCSB and puts", "tpcc": "TPC-C's mix",
          "tree": "Dependent transactions", "delay": "Slower memory"}


class Palette(dict):
  """A colour for each subject, whatever the failures."""

  def __init__(self, subjects):
    super().__init__()
    others = 0
    for name in in_order(subject["name"] for subject in subjects):
      if name not in COLOURS:
        others += 1
      self[name] = COLOURS.get(name, OTHERS[(others - 1) % len(OTHERS)])

  def legend(self):
    return " &nbsp; ".join(
        f'<span style="color:{colour}">&#9632;</span> {html.escape(name)}'
        for name, colour in self.items())


def load_of(row):
  if row["outstanding"] is not None:
    return f"{row['outstanding']} outstanding"
  return f"{number(row['offered_per_s'])}/s"


def delays_of(row):
  return f", memory slower by {row['delay_ns']} ns" if row["delay_ns"] else ""


# --- Tables: heads and lines.

def measured_table(rows):
  heads = ["", "", "subject", "per second", "spread", "mean us", "p50 us",
           "p99 us", "writes' mean us", "busiest node us", "all nodes us",
           "driver us", "foreign", "errors"]
  lines, before = [], None
  for row in rows:
    cell = row["workload"], load_of(row)
    lines.append([
        *(cell if cell != before else ("", "")), row["subject"],
        number(row["ops_per_s"]), f"{100 * row['spread']:.0f} %",
        number(row["mean_us"]), number(row["p50_us"]), number(row["p99_us"]),
        number(row["writes_mean_us"] or None), number(figures.busiest(row)),
        number(figures.all_nodes(row)),
        number(row["processor_us_per_op"].get("driver")),
        number(row["foreign_processors"]), str(row["errors"])])
    before = cell
  return heads, lines


def marks_table(marks):
  return (["mark", "the paper", "here", "holds", "", "why"],
          [[m["name"], m["paper"], number(m["here"]), HOLDS[m["holds"]],
            m["note"], m["reason"]] for m in marks])


def percent(part):
  return "-" if part is None else f"{100 * part:.1f} %"


def storage_table(rows):
  mib = 1 << 20
  return (["f", "subject", "nodes", "formula", "by formula, times the data",
           "files, times the heap", "used, times the data", "used MiB",
           "rings' files MiB", "writes whose copy was there"],
          [[str(r["failures"]), r["subject"], str(r["nodes"]), r["formula"],
            number(r["by_formula"]), number(r["by_files"]),
            number(r["by_use"]), number(r["used_bytes"] / mib),
            number(r["files"]["ring"] / mib), percent(r["copy_hit_rate"])]
           for r in rows])


def links_table(rows):
  return (["f", "subject", "a put of", "bytes on links", "messages"],
          [[str(r["failures"]), r["subject"], f"{r['value_size']} B",
            number(r["bytes_per_op"]), number(r["messages_per_op"])]
           for r in rows])


def model_table(rows):
  return (["subject", "p50 us by nodes", "a node adds us", "the rest us",
           "executes us (l_t, with l_c)", "hop us (l_n)",
           "a node beyond kamino's us (l_c)"],
          [[r["subject"], ", ".join(f"{nodes}: {number(p50)}"
                                    for nodes, p50 in r["points"]),
            number(r["node_us"]), number(r["rest_us"]),
            number(r["executes_us"]), number(r["hop_us"]),
            number(r["beyond_kamino_us"])] for r in rows])


def costs_table(rows, prices):
  rivals = {r["workload"]: r for r in rows if r["subject"] == "traditional-log"}

  def over(row, how):
    rival = rivals.get(row["workload"])
    if rival is None or not rival[how] or row[how] is None:
      return "-"
    return number(row[how] / rival[how])

  money = prices["currency"]
  return (["workload", "subject", f"{money} an hour",
           f"operations for a {money}, measured", "/ traditional-log",
           f"operations for a {money}, nodes apart", "/ traditional-log"],
          [[r["workload"], r["subject"], number(r["an_hour"]),
            number(r["measured"]), over(r, "measured"), number(r["apart"]),
            over(r, "apart")] for r in rows])


def prices_text(prices):
  return (f"Prices: {prices['currency']} {prices['processor_hour']} for a "
          f"processor's hour, {prices['processors_of_a_node']} processors a "
          f"node, {prices['memory_gib_hour']} for a GiB's hour, data of "
          f"{prices['data_gib']} GiB ({prices['about']}).")


def sections(results):
  """(title, rows) of what was timed."""
  for suite, title in SUITES.items():
    of_suite = [r for r in results["measurements"] if r["suite"] == suite]
    for failures, delay in in_order((r["failures"], r["delay_ns"])
                                    for r in of_suite):
      rows = [r for r in of_suite
              if (r["failures"], r["delay_ns"]) == (failures, delay)]
      yield f"{title}, f = {failures}{delays_of(rows[0])}", rows


def tables(results):
  """(title, table) of each."""
  yield "Marks", marks_table(results["marks"])
  for title, rows in sections(results):
    yield title, measured_table(rows)
  for title, name, table in (
      ("Storage", "storage", storage_table),
      ("What a put over an existing object sends between nodes", "links",
       links_table),
      ("What a node adds to a put's latency", "model", model_table)):
    if results[name]:
      yield title, table(results[name])
  if results["costs"]:
    yield ("For the money", costs_table(results["costs"], results["prices"]))


# --- Plots.

def bars(rows, value, group, palette, unit):
  groups = []
  for label in in_order(group(r) for r in rows):
    groups.append((label, [(r["subject"], value(r), value(r), value(r))
                           for r in rows if group(r) == label]))
  return engine_report.bar_chart(groups, palette, unit)


def pictures(results, palette):
  """(name, caption, svg) of each plot."""
  rows = [r for r in results["measurements"] if r["operations"]]
  closed = [r for r in rows if r["suite"] == "ycsb"]
  for failures in in_order(r["failures"] for r in closed):
    for outstanding in in_order(r["outstanding"] for r in closed):
      chosen = [r for r in closed if (r["failures"], r["outstanding"])
                == (failures, outstanding)]
      if not chosen:
        continue
      where = f"f = {failures}, {outstanding} outstanding"
      name = f"f{failures}-{outstanding}"
      work = lambda r: r["workload"]
      if outstanding == 1:
        yield (f"latency-{name}", f"Mean latency, {where}",
               bars(chosen, lambda r: r["mean_us"], work, palette, "us"))
      else:
        yield (f"throughput-{name}", f"Throughput, {where}",
               bars(chosen, lambda r: r["ops_per_s"] / 1e3, work, palette,
                    "thousand a second"))
        yield (f"busiest-{name}",
               f"The busiest node's processor time of an operation, {where}",
               bars(chosen, lambda r: figures.busiest(r) or 0, work, palette,
                    "us"))
  yield from delay_pictures(results, palette)
  tree = [r for r in rows if r["suite"] == "tree"]
  for rate in in_order(r["offered_per_s"] for r in tree):
    chosen = [r for r in tree if r["offered_per_s"] == rate]
    yield (f"tree-{rate:.0f}",
           f"Mean latency of inserts, {number(rate)} operations a second",
           bars(chosen, lambda r: r["writes_mean_us"],
                lambda r: r["workload"].replace("tree-", ""), palette, "us"))


def delay_pictures(results, palette):
  """Plots of the loads that were measured at every delay, and without one."""
  slower = [r for r in results["measurements"]
            if r["suite"] == "delay" and r["operations"]]
  for workload, outstanding in in_order((r["workload"], r["outstanding"])
                                        for r in slower):
    subjects = {r["subject"] for r in slower}
    chosen = [r for r in results["measurements"]
              if (r["workload"], r["outstanding"], r["failures"])
              == (workload, outstanding, slower[0]["failures"])
              and r["subject"] in subjects and r["operations"]]
    yield (f"delay-{workload}-{outstanding}",
           f"Mean latency of {workload}, {outstanding} outstanding, by what "
           "each drain and line takes longer",
           bars(chosen, lambda r: r["mean_us"],
                lambda r: f"{r['delay_ns']} ns", palette, "us"))


# --- Files.

def facts(results):
  told = {(s["name"], s["failures"]): s["about"] for s in results["subjects"]}
  return [*results["facts"].items(),
          *((f"{name}, f = {f}", about) for (name, f), about in told.items())]


def markdown(results):
  parts = [report.item(f"{name}: {value}") for name, value in facts(results)]
  parts += ["", report.item(prices_text(results["prices"]))]
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
  """The report for a terminal."""
  parts = [f"{name}: {value}" for name, value in facts(results)]
  for title, table in tables(results):
    parts += ["", title, aligned(table)]
  return "\n".join([*parts, prices_text(results["prices"])]) + "\n"


def page(results):
  palette = Palette(results["subjects"])
  parts = [f"<p>{palette.legend()}</p>"]
  parts += [engine_report.figure(svg, caption)
            for _, caption, svg in pictures(results, palette)]
  for title, table in tables(results):
    parts += [f"<h2>{html.escape(title)}</h2>", report.as_html(table)]
  parts.append(f"<p>{html.escape(prices_text(results['prices']))}</p>")
  return engine_report.page_of("Chain bench", facts(results), parts)


def files(results):
  """Name to contents of all that is written."""
  palette = Palette(results["subjects"])
  written = {"chain.html": page(results), "chain.md": markdown(results)}
  for name, _, svg in pictures(results, palette):
    written[f"chain-{name}.svg"] = svg + "\n"
  return written


def main(words):
  return engine_report.write_files(words, "chain_report.py", files)


if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
