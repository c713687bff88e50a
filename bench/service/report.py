#!/usr/bin/env python3
"""Makes tables and plots of what bench-service has measured.

    report.py service.json FOLDER

writes FOLDER/service.html (all of it; needs nothing but itself), service.md
(the tables, as docs have them) and service-*.svg (the plots alone). Exits with
0, 1 when a file cannot be read or written, 2 when the words are wrong.
"""

import html
import os
import sys
import textwrap

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, HERE)
# pylint: disable=wrong-import-position
import plots
from plots import engine_report, number

in_order = engine_report.in_order
MODES = {"closed": "Closed loads", "open": "Open loads",
         "endurance": "The long slice, at half load"}


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


def ratios(row, rival):
  """Throughput and p99 over the rival's."""
  if row["subject"] == rival:
    return "1"
  of = row["ratio_to"].get(rival)
  if of is None:
    return "-"
  return f"{number(of['ops_per_s'], 2)}, {number(of['p99'], 2)}"


def latency_table(rows, rival):
  """Heads and lines."""
  heads = ["", "subject", "per second", "spread", "p50 us", "p99 us",
           "p99.9 us", "p99.99 us", "max us", "sent late us",
           f"/ {rival}: per second, p99", "foreign", "steal", "errors"]
  lines, before = [], None
  for row in rows:
    cell = load_of(row)
    lines.append([
        "" if cell == before else cell, row["subject"],
        number(row["ops_per_s"]), f"{100 * row['spread']:.0f} %",
        *(number(row[name]) for name in ("p50_us", "p99_us", "p999_us",
                                         "p9999_us", "max_us")),
        "-" if row["mode"] == "closed" else number(row["lateness_p50_us"]),
        ratios(row, rival), number(row["foreign_processors"]),
        f"{100 * row['steal']:.1f} %",
        str(row["errors"])])
    before = cell
  return heads, lines


def processor_table(rows):
  """Where processor time goes: a line for each row of closed loads."""
  heads = ["", "subject", "driver", "servers", "each of them",
           "servers of others, processors"]
  lines, before = [], None
  for row in rows:
    times = row["processor_us_per_op"]
    servers = {role: time for role, time in times.items() if role != "driver"}
    cell = load_of(row)
    lines.append([
        "" if cell == before else cell, row["subject"],
        number(times.get("driver", 0)), number(sum(servers.values())),
        ", ".join(f"{role} {number(time)}" for role, time in servers.items()),
        number(row["others_processors"])])
    before = cell
  return heads, lines


def as_markdown(table):
  heads, lines = table
  return "\n".join(["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|",
                    *("| " + " | ".join(line) + " |" for line in lines)]) + "\n"


def as_html(table):
  heads, lines = table
  parts = ["<tr>", *(f"<th>{html.escape(head)}</th>" for head in heads),
           "</tr>"]
  for line in lines:
    parts.append("<tr>" + "".join(f"<td>{html.escape(v)}</td>" for v in line)
                 + "</tr>")
  return f'<div class="scroll"><table>{"".join(parts)}</table></div>'


def sections(results):
  """(title, name, rows) of each workload and size."""
  rows = results["measurements"]
  for workload, size in in_order((r["workload"], r["value_size"])
                                 for r in rows):
    chosen = [r for r in rows
              if (r["workload"], r["value_size"]) == (workload, size)]
    title = f"{workload}, {size} B, {chosen[0]['objects']} objects"
    yield title, f"{workload}-{size}", chosen


def tables(rows, rival):
  """(title, table) of each."""
  for mode, title in MODES.items():
    chosen = [row for row in rows if row["mode"] == mode]
    if chosen:
      yield title, latency_table(chosen, rival)
      if mode == "closed":
        yield ("Processor time, us for each operation",
               processor_table(chosen))


def pictures(rows, palette):
  """(name, caption, svg) of each plot."""
  closed = [row for row in rows if row["mode"] == "closed"]
  if closed:
    yield "throughput", "Closed loads", plots.throughput_bars(closed, palette)
  lines = plots.latency_lines([r for r in rows if r["mode"] == "open"], palette)
  if lines:
    yield ("latency", "Open loads: p50, p99 (dashed), p99.9 (dotted)", lines)


def item(text):
  """An item of a list, wrapped as documents are."""
  return textwrap.fill(f"- {text}", width=120, subsequent_indent="  ")


def markdown(results):
  rival = main_rival(results)
  parts = [item(f"{name}: {value}")
           for name, value in results["facts"].items()]
  parts.append("")
  parts += [item(f"`{s['name']}`: {s['about']}") for s in results["subjects"]]
  for title, _, rows in sections(results):
    parts += ["", f"### {title}"]
    for heading, table in tables(rows, rival):
      parts += ["", f"{heading}:", "", as_markdown(table).rstrip()]
  return "\n".join(parts) + "\n"


def page(results):
  rival = main_rival(results)
  palette = plots.Palette(results["subjects"])
  parts = [f"<p>{palette.legend()}</p>"]
  for title, _, rows in sections(results):
    parts.append(f"<h2>{html.escape(title)}</h2>")
    parts += [engine_report.figure(svg, caption)
              for _, caption, svg in pictures(rows, palette)]
    for heading, table in tables(rows, rival):
      parts += [f"<h3>{html.escape(heading)}</h3>", as_html(table)]
  facts = [*results["facts"].items(),
           *((s["name"], s["about"]) for s in results["subjects"])]
  return engine_report.page_of("Service bench", facts, parts)


def files(results):
  """Name to contents of all that is written."""
  palette = plots.Palette(results["subjects"])
  written = {"service.html": page(results), "service.md": markdown(results)}
  for _, name, rows in sections(results):
    for kind, _, svg in pictures(rows, palette):
      written[f"service-{name}-{kind}.svg"] = svg + "\n"
  return written


def main(words):
  return engine_report.write_files(words, "report.py", files)


if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
