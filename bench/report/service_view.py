"""The report of bench_service."""

from page import Report
from plots import Plot
from tables import Table, in_order, number, of_rows, percent

MODES = {"closed": "closed loads", "open": "open loads",
         "endurance": "the long slice, at half load"}
QUANTILES = {"p50_us": "p50", "p99_us": "p99", "p999_us": "p99.9"}


def load_of(row):
  """The part of the load that differs from others of its table."""
  if row["mode"] == "closed":
    return f"{row['outstanding']} outstanding"
  offered = f"{number(row['offered_per_s'])}/s"
  if row["load_percent"] is None:
    return offered
  return f"{row['load_percent']} %: {offered}"


def main_rival(results):
  """The first subject that is not Kamino: ratios are to it."""
  for subject in results["subjects"]:
    if subject["kind"] != "kamino":
      return subject["name"]
  return results["subjects"][0]["name"]


def ratios_to(rival):
  """Cells: throughput and p99 over the rival's."""
  def cell(row):
    of = row["ratio_to"].get(rival)
    if row["subject"] == rival or of is None:
      return "1" if row["subject"] == rival else "-"
    return f"{number(of['ops_per_s'], 2)}, {number(of['p99'], 2)}"
  return cell


def latency_table(rows, rival):
  return of_rows(rows, [
      ("", load_of), ("subject", "subject"), ("per second", "ops_per_s"),
      ("spread", lambda r: percent(r["spread"])), ("p50 us", "p50_us"),
      ("p99 us", "p99_us"), ("p99.9 us", "p999_us"), ("p99.99 us", "p9999_us"),
      ("max us", "max_us"),
      ("sent late us", lambda r: None if r["mode"] == "closed"
       else r["lateness_p50_us"]),
      (f"/ {rival}: per second, p99", ratios_to(rival)),
      ("foreign", "foreign_processors"),
      ("steal", lambda r: percent(r["steal"], 1)),
      ("errors", lambda r: str(r["errors"]))], 1)


def servers_of(row):
  return {role: time for role, time in row["processor_us_per_op"].items()
          if role != "driver"}


def processor_table(rows):
  """Where processor time goes."""
  return of_rows(rows, [
      ("", load_of), ("subject", "subject"),
      ("driver", lambda r: r["processor_us_per_op"].get("driver", 0)),
      ("servers", lambda r: sum(servers_of(r).values())),
      ("each of them", lambda r: ", ".join(
          f"{role} {number(time)}" for role, time in servers_of(r).items())),
      ("servers of others, processors", "others_processors")], 1)


def with_rounds(row):
  rounds = row["rounds"] or [row["ops_per_s"]]
  return (str(row["outstanding"]), row["ops_per_s"] / 1e3, min(rounds) / 1e3,
          max(rounds) / 1e3)


def plots(title, name, rows):
  """Throughput of closed loads, and latency of open ones."""
  closed = [row for row in rows if row["mode"] == "closed"]
  if closed:
    yield Plot(f"{name}-throughput", f"{title}: closed loads",
               "operations outstanding", "thousand operations a second",
               {subject: [with_rounds(row) for row in closed
                          if row["subject"] == subject]
                for subject in in_order(r["subject"] for r in closed)}, "bars")
  done = [row for row in rows if row["mode"] == "open" and row["operations"]]
  if done:
    yield Plot(f"{name}-latency", f"{title}: open loads",
               "thousand operations a second", "latency, us",
               {f"{subject}, {quantile}": sorted(
                   (row["ops_per_s"] / 1e3, row[field]) for row in done
                   if row["subject"] == subject)
                for subject in in_order(r["subject"] for r in done)
                for field, quantile in QUANTILES.items()})


def report(results):
  rows, rival = results["measurements"], main_rival(results)
  parts = []
  for workload, size in in_order((r["workload"], r["value_size"])
                                 for r in rows):
    chosen = [r for r in rows
              if (r["workload"], r["value_size"]) == (workload, size)]
    title = f"{workload}, {size} B, {chosen[0]['objects']} objects"
    parts += plots(title, f"{workload}-{size}", chosen)
    for mode, words in MODES.items():
      of_mode = [row for row in chosen if row["mode"] == mode]
      if of_mode:
        parts.append(Table(f"{title}: {words}", latency_table(of_mode, rival)))
      if of_mode and mode == "closed":
        parts.append(Table(f"{title}: processor time, us an operation",
                           processor_table(of_mode)))
  return Report("Service bench", [
      *results["facts"].items(),
      *((f"`{s['name']}`", s["about"]) for s in results["subjects"])], parts)
