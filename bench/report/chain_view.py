"""The report of bench/chain/chain.py."""

import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "chain"))
# pylint: disable=wrong-import-position
import figures
from page import Report
from plots import Plot
from tables import Table, in_order, number, of_rows, percent

HOLDS = {True: "yes", False: "no", None: "not measured"}
SUITES = {"ycsb": "YCSB and puts", "tpcc": "TPC-C's mix",
          "tree": "Dependent transactions", "delay": "Slower memory"}
MIB = 1 << 20


def load_of(row):
  if row["outstanding"] is not None:
    return f"{row['outstanding']} outstanding"
  return f"{number(row['offered_per_s'])}/s"


def delays_of(row):
  return f", memory slower by {row['delay_ns']} ns" if row["delay_ns"] else ""


def whole(name):
  return lambda row: str(row[name])


# --- Tables.

MEASURED = (
    ("", "workload"), ("", load_of), ("subject", "subject"),
    ("per second", "ops_per_s"), ("spread", lambda r: percent(r["spread"])),
    ("mean us", "mean_us"), ("p50 us", "p50_us"), ("p99 us", "p99_us"),
    ("writes' mean us", lambda r: r["writes_mean_us"] or None),
    ("busiest node us", figures.busiest), ("all nodes us", figures.all_nodes),
    ("driver us", lambda r: r["processor_us_per_op"].get("driver")),
    ("foreign", "foreign_processors"), ("errors", whole("errors")))
MARKS = (
    ("mark", "name"), ("the paper", "paper"), ("here", "here"),
    ("holds", lambda r: HOLDS[r["holds"]]), ("", "note"), ("why", "reason"))
STORAGE = (
    ("f", whole("failures")), ("subject", "subject"), ("nodes", whole("nodes")),
    ("formula", "formula"), ("by formula, times the data", "by_formula"),
    ("files, times the heap", "by_files"), ("used, times the data", "by_use"),
    ("used MiB", lambda r: r["used_bytes"] / MIB),
    ("rings' files MiB", lambda r: r["files"]["ring"] / MIB),
    ("writes whose copy was there", lambda r: percent(r["copy_hit_rate"], 1)))
LINKS = (
    ("f", whole("failures")), ("subject", "subject"),
    ("a put of", lambda r: f"{r['value_size']} B"),
    ("bytes on links", "bytes_per_op"), ("messages", "messages_per_op"))
MODEL = (
    ("subject", "subject"),
    ("p50 us by nodes", lambda r: ", ".join(
        f"{nodes}: {number(p50)}" for nodes, p50 in r["points"])),
    ("a node adds us", "node_us"), ("the rest us", "rest_us"),
    ("executes us (l_t, with l_c)", "executes_us"), ("hop us (l_n)", "hop_us"),
    ("a node beyond kamino's us (l_c)", "beyond_kamino_us"))


def costs_table(rows, prices):
  rivals = {r["workload"]: r for r in rows if r["subject"] == "traditional-log"}

  def over(how):
    def cell(row):
      rival = rivals.get(row["workload"])
      if rival is None or not rival[how] or row[how] is None:
        return None
      return row[how] / rival[how]
    return cell

  money = prices["currency"]
  return of_rows(rows, (
      ("workload", "workload"), ("subject", "subject"),
      (f"{money} an hour", "an_hour"),
      (f"operations for a {money}, measured", "measured"),
      ("/ traditional-log", over("measured")),
      (f"operations for a {money}, nodes apart", "apart"),
      ("/ traditional-log", over("apart"))))


def prices_text(prices):
  return (f"{prices['currency']} {prices['processor_hour']} for a processor's "
          f"hour, {prices['processors_of_a_node']} processors a node, "
          f"{prices['memory_gib_hour']} for a GiB's hour, data of "
          f"{prices['data_gib']} GiB ({prices['about']}).")


def tables(results):
  yield Table("Marks", of_rows(results["marks"], MARKS))
  for suite, title in SUITES.items():
    of_suite = [r for r in results["measurements"] if r["suite"] == suite]
    for failures, delay in in_order((r["failures"], r["delay_ns"])
                                    for r in of_suite):
      rows = [r for r in of_suite
              if (r["failures"], r["delay_ns"]) == (failures, delay)]
      yield Table(f"{title}, f = {failures}{delays_of(rows[0])}",
                  of_rows(rows, MEASURED, 2))
  for title, name, columns in (
      ("Storage", "storage", STORAGE),
      ("What a put over an existing object sends between nodes", "links",
       LINKS),
      ("What a node adds to a put's latency", "model", MODEL)):
    if results[name]:
      yield Table(title, of_rows(results[name], columns))
  if results["costs"]:
    yield Table("For the money",
                costs_table(results["costs"], results["prices"]))


# --- Plots.

def bars(name, title, y_label, rows, value, group=lambda r: r["workload"],
         x_label="workload"):
  return Plot(name, title, x_label, y_label,
              {subject: [(group(r), value(r)) for r in rows
                         if r["subject"] == subject]
               for subject in in_order(r["subject"] for r in rows)}, "bars")


def plots(results):
  rows = [r for r in results["measurements"] if r["operations"]]
  closed = [r for r in rows if r["suite"] == "ycsb"]
  for failures, outstanding in in_order((r["failures"], r["outstanding"])
                                        for r in closed):
    chosen = [r for r in closed if (r["failures"], r["outstanding"])
              == (failures, outstanding)]
    where = f"f = {failures}, {outstanding} outstanding"
    name = f"f{failures}-{outstanding}"
    if outstanding == 1:
      yield bars(f"latency-{name}", f"Mean latency, {where}",
                 "mean latency, us", chosen, lambda r: r["mean_us"])
    else:
      yield bars(f"throughput-{name}", f"Throughput, {where}",
                 "thousand operations a second", chosen,
                 lambda r: r["ops_per_s"] / 1e3)
      yield bars(f"busiest-{name}",
                 f"Processor time of the busiest node, {where}",
                 "processor time, us an operation", chosen,
                 lambda r: figures.busiest(r) or 0)
  yield from delay_plots(results)
  tree = [r for r in rows if r["suite"] == "tree"]
  for rate in in_order(r["offered_per_s"] for r in tree):
    yield bars(f"tree-{rate:.0f}",
               f"Mean latency of inserts, {number(rate)} operations a second",
               "mean latency, us",
               [r for r in tree if r["offered_per_s"] == rate],
               lambda r: r["writes_mean_us"],
               lambda r: r["workload"].replace("tree-", ""), "arrivals")


def delay_plots(results):
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
    yield bars(f"delay-{workload}-{outstanding}",
               f"Mean latency of {workload}, {outstanding} outstanding",
               "mean latency, us", chosen, lambda r: r["mean_us"],
               lambda r: str(r["delay_ns"]), "added to each drain and line, ns")


def report(results):
  about = {(s["name"], s["failures"]): s["about"] for s in results["subjects"]}
  return Report("Chain bench", [
      *results["facts"].items(),
      *((f"{name}, f = {f}", words) for (name, f), words in about.items()),
      ("prices", prices_text(results["prices"]))],
      [*plots(results), *tables(results)])
