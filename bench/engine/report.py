#!/usr/bin/env python3
"""Makes one page of HTML of the measurements of bench-engine.

    report.py engine.json engine.html

The page needs nothing but itself: plots are SVG within it. Exits with 0, 1
when a file cannot be read or written, 2 when the words are wrong.
"""

import html
import json
import math
import os
import sys

# One for each store on every page, to be told apart on white and on black.
COLOURS = {
    "kamino-simple": "#2a7fc4",
    "kamino-dynamic": "#5fb8ea",
    "undo-object": "#d0402f",
    "undo-range": "#ef8f73",
    "undo-own": "#9a6b2f",
    "undo-each": "#cfa36a",
    "cow": "#8a63c8",
    "wrap": "#e0408f",
    "archapt": "#d99a00",
    "unsafe": "#8a8a8a",
    "unsafe-each": "#b4b4b4",
    "cached": "#6b7f92",
    "rewind-1-noforce-batch": "#2e9b57",
    "rewind-1-noforce-optimized": "#12b3a0",
    "rewind-1-noforce-simple": "#6f8f1e",
    "rewind-1-force-batch": "#86c232",
    "rewind-1-force-optimized": "#0f8c8c",
    "rewind-1-force-simple": "#a8b545",
    "rewind-2-noforce-batch": "#57c785",
    "rewind-2-noforce-optimized": "#5ad1c4",
    "rewind-2-noforce-simple": "#93a84a",
    "rewind-2-force-batch": "#b2dc73",
    "rewind-2-force-optimized": "#4fb3b3",
    "rewind-2-force-simple": "#c7cf83",
}
OTHER_COLOUR = "#7a7a7a"
SHADES = ["#1b6ca8", "#bcdff1", "#93c9e6", "#6ab2da", "#4398c9", "#2a7fb5"]

PART_COLOURS = ["#b8b8b8", "#8e6c2f", "#7d5ba6", "#c0392b", "#1b6ca8",
                "#5aa9d6"]

STYLE = """
:root { color-scheme: light dark; --ink: #222; --paper: #fff; --faint: #555;
        --stripe: #f5f6f7; --grid: #ddd; --rule: #888; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #ddd; --paper: #16181c; --faint: #aaa; --stripe: #202329;
          --grid: #3a3e45; --rule: #777; }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink);
       background: var(--paper); margin: 2em auto; max-width: 76em;
       padding: 0 1em; }
h1, h2, h3 { font-weight: 600; }
table { border-collapse: collapse; font-size: 13px; margin: 1em 0; }
th, td { padding: 2px 9px; text-align: right; white-space: nowrap; }
th { border-bottom: 1px solid var(--rule); vertical-align: bottom; }
td:first-child, th:first-child { text-align: left; }
tr:nth-child(even) td { background: var(--stripe); }
figure { display: inline-block; margin: 0 1em 1em 0; vertical-align: top; }
figcaption { font-size: 13px; }
svg text { font: 11px system-ui, sans-serif; fill: var(--ink); }
svg [stroke="#ddd"] { stroke: var(--grid); }
svg [stroke="#222"] { stroke: var(--ink); }
td.parts { text-align: left; }
.part { display: inline-block; height: 0.8em; }
.scroll { overflow-x: auto; }
.note { color: var(--faint); font-size: 13px; }
.warning { border-left: 4px solid #d99a00; padding-left: 0.7em; }
td.long, th.long { white-space: normal; text-align: left; min-width: 13em;
                   max-width: 26em; }
table.facts td:last-child { white-space: normal; text-align: left; }
table.words th { white-space: normal; }
table.words td { vertical-align: top; }
table.words td.long:first-child { min-width: 22em; }
"""

PLOT_WIDTH, PLOT_HEIGHT = 420, 200
LEFT, BOTTOM, TOP = 52, 20, 14


def store_name(row):
  """A scheme, with its alpha where it has one, as in the tables."""
  if row.get("alpha") is None:
    return row["scheme"]
  return f"{row['scheme']}@{row['alpha']:g}"


def cell_name(row):
  size = f" {row['value_size']} B" if row["value_size"] else ""
  threads = "1 thread" if row["threads"] == 1 else f"{row['threads']} threads"
  slower = f", +{row['drain_ns']} ns a drain" if row.get("drain_ns") else ""
  return f"{row['workload']} {row['distribution']}{size}, {threads}{slower}"


def in_order(values):
  return list(dict.fromkeys(values))


def number(value, digits=3):
  """The value with `digits` significant digits; a dash for None."""
  if value is None:
    return "-"
  if value == 0:
    return "0"
  if abs(value) >= 10 ** digits:
    return f"{value:,.0f}"
  places = max(digits - 1 - math.floor(math.log10(abs(value))), 0)
  return f"{value:.{places}f}"


def nice_ceiling(value):
  """The next of 1, 2, 2.5, 5 times a power of ten: where an axis ends."""
  if value <= 0:
    return 1.0
  power = 10 ** math.floor(math.log10(value))
  for step in (1, 2, 2.5, 5, 10):
    if value <= step * power * (1 + 1e-9):
      return step * power
  return 10 * power


class Palette:
  """A colour for each store: the scheme's, shades where alpha tells apart."""

  def __init__(self, stores):
    alphas = [store for store in stores if "@" in store]
    self.colours = {}
    for store in stores:
      scheme = store.split("@")[0]
      self.colours[store] = COLOURS.get(scheme, OTHER_COLOUR)
    if len(alphas) > 1:
      for i, store in enumerate(alphas):
        self.colours[store] = SHADES[1 + i % (len(SHADES) - 1)]

  def __getitem__(self, store):
    return self.colours[store]

  def legend(self):
    items = []
    for store, colour in self.colours.items():
      items.append(f'<span style="color:{colour}">&#9632;</span> '
                   f"{html.escape(store)}")
    return f'<p>{" &nbsp; ".join(items)}</p>'


def axis(top, width, unit):
  """Grid lines with their values, from 0 to `top`."""
  parts = []
  height = PLOT_HEIGHT - BOTTOM - TOP
  for i in range(5):
    y = TOP + height * (1 - i / 4)
    parts.append(f'<line x1="{LEFT}" x2="{width}" y1="{y:.1f}" y2="{y:.1f}" '
                 'stroke="#ddd"/>')
    parts.append(f'<text x="{LEFT - 5}" y="{y + 4:.1f}" text-anchor="end">'
                 f"{number(top * i / 4) if i else 0}</text>")
  parts.append(f'<text x="0" y="10">{html.escape(unit)}</text>')
  return "".join(parts)


def bar_chart(groups, palette, unit):
  """Bars by group.

  Args:
    groups: list of (label, list of (store, value, low, high)).
    palette: the stores' colours.
    unit: of the values.
  """
  bars = sum(len(group) for _, group in groups)
  bar = max(6, min(26, 340 // max(bars, 1)))
  width = LEFT + bars * bar + (len(groups) + 1) * 14
  highest = [high for _, group in groups for _, _, _, high in group]
  top = nice_ceiling(max(highest, default=1))
  scale = (PLOT_HEIGHT - BOTTOM - TOP) / top
  floor = PLOT_HEIGHT - BOTTOM
  parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
           f'height="{PLOT_HEIGHT}">', axis(top, width, unit)]
  x = LEFT + 14
  for label, group in groups:
    middle = x + len(group) * bar / 2
    for store, value, low, high in group:
      tip = html.escape(f"{store}: {number(value, 4)} "
                        f"({number(low, 4)} to {number(high, 4)})")
      parts.append(
          f'<rect x="{x:.1f}" y="{floor - value * scale:.1f}" '
          f'width="{bar - 2}" height="{value * scale:.1f}" '
          f'fill="{palette[store]}"><title>{tip}</title></rect>'
          f'<line x1="{x + bar / 2 - 1:.1f}" x2="{x + bar / 2 - 1:.1f}" '
          f'y1="{floor - low * scale:.1f}" y2="{floor - high * scale:.1f}" '
          'stroke="#222"/>')
      x += bar
    parts.append(f'<text x="{middle:.1f}" y="{PLOT_HEIGHT - 5}" '
                 f'text-anchor="middle">{html.escape(label)}</text>')
    x += 14
  parts.append("</svg>")
  return "".join(parts)


def group_label(row, rows):
  """The part of the cell that differs from the others of its plot."""
  if len({r["threads"] for r in rows}) > 1:
    return f"x{row['threads']}"
  if row["value_size"]:
    return f"{row['value_size']} B"
  return f"x{row['threads']}"


def plots(rows, palette):
  """A plot for each workload and distribution, with its threads or sizes."""
  figures = []
  def key_of(row):
    return row["workload"], row["distribution"], row.get("drain_ns", 0)
  for key in in_order(map(key_of, rows)):
    workload, distribution, drain_ns = key
    chosen = [r for r in rows if key_of(r) == key]
    cells = in_order((r["threads"], r["value_size"]) for r in chosen)
    groups = []
    for cell in cells:
      members = [r for r in chosen if (r["threads"], r["value_size"]) == cell]
      label = group_label(members[0], chosen)
      if len({c[0] for c in cells}) > 1 and len({c[1] for c in cells}) > 1:
        label = f"{cell[1]} B x{cell[0]}"
      groups.append((label, [
          (store_name(r), r["ops_per_s"] / 1e3,
           min(r["rounds"], default=0) / 1e3, max(r["rounds"], default=0) / 1e3)
          for r in members]))
    chart = bar_chart(groups, palette, "thousand tx/s")
    figures.append(f"<figure>{chart}<figcaption>{html.escape(workload)}, "
                   f"{html.escape(distribution)}"
                   f"{f', +{drain_ns} ns a drain' if drain_ns else ''}"
                   "</figcaption></figure>")
  return "".join(figures)


def table(rows):
  heads = ["", "scheme", "tx/s", "spread", "/ kamino-simple", "/ undo-object",
           "p50 ns", "p99 ns", "fences/tx", "lines/tx", "storage MiB",
           "hit rate", "retries/tx"]
  parts = ["<tr>", *(f"<th>{head}</th>" for head in heads), "</tr>"]
  before = None
  for row in rows:
    cell = cell_name(row)
    ratios = row.get("ratio_to", {})
    hits = row.get("hit_rate")
    values = [
        cell if cell != before else "",
        store_name(row),
        number(row["ops_per_s"]),
        f"{100 * row.get('spread', 0):.0f} %",
        number(ratios.get("kamino-simple")),
        number(ratios.get("undo-object")),
        number(row["p50_ns"]),
        number(row["p99_ns"]),
        number(row["fences_per_tx"]),
        number(row["lines_flushed_per_tx"]),
        number(row["bytes_storage"] / 2 ** 20, 4),
        "-" if hits is None else f"{100 * hits:.2f} %",
        number(row.get("retries_per_tx")),
    ]
    before = cell
    parts.append("<tr>" + "".join(f"<td>{html.escape(v)}</td>" for v in values)
                 + "</tr>")
  return f'<div class="scroll"><table>{"".join(parts)}</table></div>'


def kinds_table(rows):
  """Latencies by kind of transaction, where there are several."""
  kinds = in_order(kind for row in rows for kind in row.get("kinds", {}))
  if not kinds:
    return ""
  parts = ["<tr><th></th><th>scheme</th>",
           *(f"<th>{html.escape(kind)}</th>" for kind in kinds), "</tr>"]
  before = None
  for row in rows:
    cell = cell_name(row)
    values = [cell if cell != before else "", store_name(row)]
    for kind in kinds:
      latency = row["kinds"].get(kind)
      values.append("-" if latency is None else
                    f"{number(latency['p50_ns'])} / "
                    f"{number(latency['p99_ns'])}")
    before = cell
    parts.append("<tr>" + "".join(f"<td>{html.escape(v)}</td>" for v in values)
                 + "</tr>")
  return ("<h3>Latency by kind, ns: p50 / p99</h3>"
          f'<div class="scroll"><table>{"".join(parts)}</table></div>')


def breakdown_table(rows):
  """Time of each part of a transaction, each with a bar of its length."""
  parts = in_order(part for row in rows for part in row["parts_ns"])
  longest = max(row["total_ns"] for row in rows)
  lines = ["<tr><th></th><th>scheme</th>",
           *(f"<th>{html.escape(part)}</th>" for part in parts),
           "<th>together</th><th></th></tr>"]
  before = None
  for row in sorted(rows, key=cell_name):
    cell = cell_name(row)
    values = [cell if cell != before else "", store_name(row),
              *(number(row["parts_ns"][part]) for part in parts),
              number(row["total_ns"])]
    before = cell
    bars = "".join(
        f'<span class="part" style="background:{PART_COLOURS[i % 6]};'
        f'width:{max(row["parts_ns"][part] or 0, 0) / longest * 20:.2f}em">'
        "</span>" for i, part in enumerate(parts))
    lines.append("<tr>" + "".join(f"<td>{html.escape(v)}</td>" for v in values)
                 + f'<td class="parts">{bars}</td></tr>')
  legend = " &nbsp; ".join(
      f'<span style="color:{PART_COLOURS[i % 6]}">&#9632;</span> '
      f"{html.escape(part)}" for i, part in enumerate(parts))
  return ("<h2>Where the nanoseconds of a transaction go</h2>"
          f'<p>{legend}</p><div class="scroll"><table>{"".join(lines)}</table>'
          "</div>")


# --- Of every bench's page.


def page_of(title, facts, parts):
  """A page of `parts`, below a table of (name, value) facts."""
  lines = "".join(f"<tr><td>{html.escape(str(name))}</td>"
                  f"<td>{html.escape(str(value))}</td></tr>"
                  for name, value in facts)
  return ('<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
          f"<title>{title}</title><style>{STYLE}</style></head><body>"
          f"<h1>{title}</h1><table class='facts'>{lines}</table>"
          f"{''.join(parts)}"
          "</body></html>\n")


def figure(svg, caption):
  return (f"<figure>{svg}<figcaption>{html.escape(caption)}</figcaption>"
          "</figure>")


def write_files(words, name, files):
  """The program `name REPORT.json FOLDER`: writes what `files` makes of the
  file, contents by name, into the folder. Returns what to exit with."""
  if len(words) != 2:
    print(f"usage: {name} REPORT.json FOLDER", file=sys.stderr)
    return 2
  try:
    with open(words[0], encoding="utf-8") as file:
      results = json.load(file)
    for written, text in files(results).items():
      with open(os.path.join(words[1], written), "w",
                encoding="utf-8") as file:
        file.write(text)
  except (OSError, ValueError, KeyError) as error:
    print(f"{name}: {words[0]}: {error!r}", file=sys.stderr)
    return 1
  return 0


# --- The engine's.


def page(results):
  """The whole page for what engine.json holds."""
  rows = results["measurements"]
  parts = [
      '<p class="note">A bar is the median of the rounds, the line on it goes '
      "from the lowest to the highest. Ratios are of medians, within one cell. "
      "Spread is (highest &minus; lowest) / median.</p>"
  ]
  for suite in in_order(row["suite"] for row in rows):
    chosen = [row for row in rows if row["suite"] == suite]
    palette = Palette(in_order(store_name(row) for row in chosen))
    parts += [f"<h2>{html.escape(suite)}</h2>", palette.legend(),
              plots(chosen, palette), table(chosen), kinds_table(chosen)]
  if results.get("breakdown"):
    parts.append(breakdown_table(results["breakdown"]))
  return page_of("Engine bench", results["facts"].items(), parts)


def main(words):
  if len(words) != 2:
    print("usage: report.py engine.json engine.html", file=sys.stderr)
    return 2
  try:
    with open(words[0], encoding="utf-8") as file:
      text = page(json.load(file))
    with open(words[1], "w", encoding="utf-8") as file:
      file.write(text)
  except (OSError, ValueError, KeyError) as error:
    print(f"report.py: {words[0]}: {error!r}", file=sys.stderr)
    return 1
  return 0


if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
