"""Plots of bench_service's measurements, as SVG."""

import html
import importlib.util
import math
import os

HERE = os.path.dirname(os.path.realpath(__file__))


def _engines_report():
  """What pages of benches have in common is there."""
  path = os.path.join(os.path.dirname(HERE), "engine", "report.py")
  spec = importlib.util.spec_from_file_location("engine_report", path)
  module = importlib.util.module_from_spec(spec)
  spec.loader.exec_module(module)
  return module


engine_report = _engines_report()
number = engine_report.number

COLOURS = {"kamino": ["#1b6ca8", "#5aa9d6", "#0b3c5d", "#93c9e6"],
           "redis": ["#c0392b", "#e08e79", "#7b241c"],
           "etcd": ["#8e6c2f", "#c9a95f"]}
OTHER_COLOUR = "#444444"
WIDTH, HEIGHT = 460, 280
LEFT, RIGHT, TOP, BOTTOM = 58, 12, 18, 34
# One for each quantile of a line.
DASHES = {"p50_us": "", "p99_us": "6 3", "p999_us": "2 3"}


class Palette(dict):
  """A colour for each subject: shades of its kind's."""

  def __init__(self, subjects):
    super().__init__()
    seen = {}
    for subject in subjects:
      shades = COLOURS.get(subject["kind"], [OTHER_COLOUR])
      at = seen.get(subject["kind"], 0)
      seen[subject["kind"]] = at + 1
      self[subject["name"]] = shades[at % len(shades)]

  def legend(self):
    return " &nbsp; ".join(
        f'<span style="color:{colour}">&#9632;</span> {html.escape(name)}'
        for name, colour in self.items())


def throughput_bars(rows, palette):
  """Closed loads: thousand operations a second, by what is outstanding."""
  groups = []
  for outstanding in engine_report.in_order(r["outstanding"] for r in rows):
    bars = []
    for row in rows:
      if row["outstanding"] != outstanding:
        continue
      rounds = row["rounds_ops_per_s"] or [0]
      bars.append((row["subject"], row["ops_per_s"] / 1e3, min(rounds) / 1e3,
                   max(rounds) / 1e3))
    groups.append((f"{outstanding} outstanding", bars))
  return engine_report.bar_chart(groups, palette, "thousand a second")


def powers_of_ten(low, high):
  """Those around all values, at least one decade."""
  first = math.floor(math.log10(max(low, 1e-3)))
  last = math.ceil(math.log10(max(high, 1e-3)))
  return first, max(last, first + 1)


def latency_lines(rows, palette):
  """Open loads: latency (logarithmic) by what was done in a second.

  Returns "" when there is nothing to be shown.
  """
  points = [row for row in rows if row["operations"]]
  if not points:
    return ""
  most = engine_report.nice_ceiling(
      max(row["ops_per_s"] for row in points) / 1e3)
  values = [row[q] for row in points for q in DASHES]
  first, last = powers_of_ten(min(values), max(values))

  def x(row):
    return LEFT + (WIDTH - LEFT - RIGHT) * row["ops_per_s"] / 1e3 / most

  def y(micros):
    part = (math.log10(max(micros, 1e-3)) - first) / (last - first)
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - part)

  parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
           f'height="{HEIGHT}" font-family="sans-serif" font-size="11">']
  for power in range(first, last + 1):
    at = y(10 ** power)
    parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" '
                 f'y2="{at:.1f}" stroke="#ddd"/><text x="{LEFT - 5}" '
                 f'y="{at + 4:.1f}" text-anchor="end">'
                 f"{number(10 ** power)}</text>")
  for i in range(5):
    at = LEFT + (WIDTH - LEFT - RIGHT) * i / 4
    parts.append(f'<text x="{at:.1f}" y="{HEIGHT - 18}" text-anchor="middle">'
                 f"{number(most * i / 4) if i else 0}</text>")
  parts.append('<text x="0" y="10">us</text>'
               f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 4}" text-anchor="end">'
               "thousand a second</text>")
  for subject in engine_report.in_order(r["subject"] for r in points):
    line = sorted((r for r in points if r["subject"] == subject),
                  key=lambda r: r["ops_per_s"])
    for quantile, dashes in DASHES.items():
      at = " ".join(f"{x(r):.1f},{y(r[quantile]):.1f}" for r in line)
      parts.append(f'<polyline points="{at}" fill="none" '
                   f'stroke="{palette[subject]}" stroke-width="1.6" '
                   f'stroke-dasharray="{dashes}"/>')
      parts += [f'<circle cx="{x(r):.1f}" cy="{y(r[quantile]):.1f}" r="2.5" '
                f'fill="{palette[subject]}"><title>'
                f"{html.escape(subject)} {quantile[:-3]}: "
                f"{number(r[quantile])} us</title></circle>" for r in line]
  parts.append("</svg>")
  return "".join(parts)
