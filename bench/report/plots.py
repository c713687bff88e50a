"""Plots of reports, drawn by Matplotlib.

The same plot gives the same bytes: a file has neither a date nor random names.
Functions that draw import Matplotlib, so that tables do not need it.
"""

# pylint: disable=import-outside-toplevel

import dataclasses
import math
import textwrap

# Colours of stores and of systems, to be told apart in one plot.
COLOURS = {
    "kamino-simple": "#2a7fc4", "kamino-dynamic": "#5fb8ea",
    "undo-object": "#d0402f", "undo-range": "#ef8f73", "undo-own": "#9a6b2f",
    "undo-each": "#cfa36a", "cow": "#8a63c8", "wrap": "#e0408f",
    "archapt": "#d99a00", "unsafe": "#8a8a8a", "unsafe-each": "#b4b4b4",
    "cached": "#6b7f92", "rewind-1-noforce-batch": "#2e9b57",
    "rewind-1-noforce-optimized": "#12b3a0",
    "rewind-1-noforce-simple": "#6f8f1e", "rewind-1-force-batch": "#86c232",
    "rewind-1-force-optimized": "#0f8c8c", "rewind-1-force-simple": "#a8b545",
    "rewind-2-noforce-batch": "#57c785",
    "rewind-2-noforce-optimized": "#5ad1c4",
    "rewind-2-noforce-simple": "#93a84a", "rewind-2-force-batch": "#b2dc73",
    "rewind-2-force-optimized": "#4fb3b3", "rewind-2-force-simple": "#c7cf83",
    "kamino": "#0b3c5d", "traditional-log": "#c0392b",
    "traditional-dynamic": "#e08e79", "images": "#5b8c3a",
    "kamino-tcp": "#1b6ca8", "kamino-shm": "#5aa9d6",
    "kamino-shm-images": "#5b8c3a", "redis": "#c0392b",
    "redis-aof": "#e08e79", "etcd": "#8e6c2f"}
# Colours of series that have none of these.
OTHERS = ("#2a7fc4", "#d0402f", "#2e9b57", "#d99a00", "#8a63c8", "#e0408f",
          "#12b3a0", "#9a6b2f")
# Series of one name share its colour: lines differ by dashes, bars by shades.
DASHES = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)), (0, (1, 4)))
SHADE = 0.22
# Series whose colours resemble others': the dash of their first line.
DASHED = {"undo-each": 1, "unsafe-each": 1, "cached": 2}
# Values this many times apart need a logarithmic axis.
MOST_LINEAR = 8
# Series at one place stand APART points beside each other, so that their ranges
# can be seen. All of them together take at most SPREAD points.
APART, SPREAD = 3.0, 24.0
FORMATS = ("svg", "png")
HEIGHT, WIDTH, WIDE = 3.6, 6.4, 10.0  # inches
TITLE, SIDE = 70, 40  # characters for which there is room above, and beside
MANY = 8  # series from which on a plot is wide


@dataclasses.dataclass
class Plot:
  """What a plot shows.

  `series` is label to points. A point of "lines" and "bars" is (x, y) or
  (x, y, low, high), where low and high are the ends of the rounds; the x of a
  bar is the text below it. A point of "stacked" bars is (text beside the bar,
  length). "dots" are values on a line for each series.
  """
  name: str  # of its file, after the bench's
  title: str
  x_label: str
  y_label: str
  series: dict
  kind: str = "lines"
  target: float = None  # of dots: a line across all


def scheme_of(label):
  """The name of the store or system with which a series' label begins."""
  return label.split(",")[0].split("+")[0].split("@")[0].strip()


def styles(labels):
  """(colour, how many series before have this colour) of each label."""
  seen, found, others = {}, {}, {}
  for label in labels:
    scheme = scheme_of(label)
    colour = COLOURS.get(scheme) or others.setdefault(
        scheme, OTHERS[len(others) % len(OTHERS)])
    turn = seen.get(scheme, 1 if "-force-" in scheme
                    else DASHED.get(scheme, 0))
    seen[scheme] = turn + 1
    found[label] = colour, turn
  return found


def tick(value, _=None):
  """The label of a place of an axis."""
  if abs(value) >= 1e6:
    return f"{value / 1e6:.4g} M"
  return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def is_logarithmic(values):
  least, most = min(values, default=0), max(values, default=1)
  return least > 0 and most >= MOST_LINEAR * least


def write(plot, path):
  """Writes the plot to the file, whose suffix is the format."""
  import matplotlib
  matplotlib.use("Agg")
  from matplotlib.figure import Figure
  with matplotlib.rc_context({"svg.hashsalt": "kamino", "font.size": 9,
                              "svg.fonttype": "none"}):
    figure = Figure(figsize=(WIDE if len(plot.series) > MANY else WIDTH,
                             HEIGHT))
    axes = figure.add_subplot()
    axes.set_axisbelow(True)
    axes.grid(color="#dddddd")
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(textwrap.fill(plot.title, TITLE), fontsize=10)
    {"lines": _lines, "bars": _bars, "stacked": _stacked,
     "dots": _dots}[plot.kind](axes, plot)
    figure.savefig(path, bbox_inches="tight", dpi=120, metadata={
        "Date" if path.endswith(".svg") else "Software": None})


def _set_axis(axes, axis, label, values):
  """Labels an axis; logarithmic if values are far apart. Drawing comes first,
  as it sets the limits."""
  from matplotlib.ticker import LogLocator, NullFormatter
  of_axis = getattr(axes, f"{axis}axis")
  if is_logarithmic(values):
    getattr(axes, f"set_{axis}scale")("log")
    decades = math.log10(max(values) / min(values))
    of_axis.set_major_locator(LogLocator(
        subs=(1, 2, 5) if decades < 2.5 else (1,), numticks=20))
    of_axis.set_minor_formatter(NullFormatter())
    label += " (logarithmic)"
  elif axis == "y":
    axes.set_ylim(bottom=min(0, *values))
  of_axis.set_major_formatter(tick)
  getattr(axes, f"set_{axis}label")(textwrap.fill(label, SIDE))


def _legend(axes, labels):
  """Below the plot, in as many columns as there is room for."""
  column = 0.7 + 0.065 * max(map(len, labels), default=1)  # inches
  axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), frameon=False,
              ncol=max(1, int(axes.figure.get_figwidth() / column)),
              fontsize=8, handlelength=3.5)


def _ranges(points):
  """How far below and above each point its rounds were."""
  low = [max(p[1] - p[2], 0) if len(p) > 2 else 0 for p in points]
  high = [max(p[3] - p[1], 0) if len(p) > 2 else 0 for p in points]
  return [low, high] if any(low) or any(high) else None


def _lines(axes, plot):
  from matplotlib.transforms import ScaledTranslation
  points = [point for line in plot.series.values() for point in line]
  gaps = max(len(plot.series) - 1, 1)
  apart = min(APART, SPREAD / gaps) / 72 if _ranges(points) else 0
  for i, (label, (colour, turn)) in enumerate(styles(plot.series).items()):
    line = plot.series[label]
    moved = axes.transData + ScaledTranslation(
        (i - gaps / 2) * apart, 0, axes.figure.dpi_scale_trans)
    axes.errorbar(
        [p[0] for p in line], [p[1] for p in line], yerr=_ranges(line),
        color=colour, linestyle=DASHES[turn % len(DASHES)], linewidth=1.5,
        marker="o", markersize=3.5, elinewidth=1, label=label,
        **({"transform": moved} if apart else {}))
  _set_axis(axes, "x", plot.x_label, [point[0] for point in points])
  _set_axis(axes, "y", plot.y_label,
            [value for point in points for value in point[1:]])
  _legend(axes, plot.series)


def _shade(colour, turn):
  from matplotlib.colors import to_rgb
  white = min(SHADE * turn, 0.8)
  return [part + (1 - part) * white for part in to_rgb(colour)]


def _bars(axes, plot):
  groups = list(dict.fromkeys(point[0] for line in plot.series.values()
                              for point in line))
  axes.grid(visible=False, axis="x")
  width = 0.84 / max(len(plot.series), 1)
  for i, (label, (colour, turn)) in enumerate(styles(plot.series).items()):
    line = plot.series[label]
    axes.bar([groups.index(p[0]) - 0.42 + (i + 0.5) * width for p in line],
             [p[1] for p in line], width * 0.92, label=label,
             color=_shade(colour, turn), yerr=_ranges(line), ecolor="#222222",
             error_kw={"elinewidth": 1})
  _set_axis(axes, "y", plot.y_label, [0])
  room = 2 * SIDE // max(len(groups), 1)
  axes.set_xticks(range(len(groups)),
                  [textwrap.fill(group, max(room, 8)) for group in groups])
  axes.set_xlabel(plot.x_label)
  _legend(axes, plot.series)


def _rows(axes, plot, labels):
  """Names of lines, from above, beside a vertical axis; values along x."""
  axes.set_yticks(range(len(labels)), labels)
  axes.set_ylim(len(labels) - 0.4, -0.6)
  axes.grid(visible=False, axis="y")
  axes.xaxis.set_major_formatter(tick)
  axes.set_xlabel(plot.x_label)
  axes.set_ylabel(plot.y_label)
  axes.figure.set_figheight(1.2 + 0.26 * len(labels))


def _stacked(axes, plot):
  bars = list(dict.fromkeys(point[0] for line in plot.series.values()
                            for point in line))
  ends = [0.0] * len(bars)
  for label, (colour, turn) in styles(plot.series).items():
    lengths = [max(dict(plot.series[label]).get(bar) or 0, 0) for bar in bars]
    axes.barh(range(len(bars)), lengths, left=ends, label=label,
              color=_shade(colour, turn))
    ends = [end + length for end, length in zip(ends, lengths)]
  _rows(axes, plot, bars)
  axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False,
              fontsize=8)


def _dots(axes, plot):
  for i, (label, (colour, _)) in enumerate(styles(plot.series).items()):
    values = plot.series[label]
    axes.plot(values, [i] * len(values), "o", color=colour, alpha=0.6)
  if plot.target is not None:
    axes.axvline(plot.target, color="#cc0000", linestyle="--", linewidth=1)
    axes.text(plot.target, 0.98, f" target {plot.target:g}", va="top",
              color="#cc0000", transform=axes.get_xaxis_transform())
  most = max(value for values in plot.series.values() for value in values)
  axes.set_xlim(0, 1.15 * max(most, plot.target or 0))
  _rows(axes, plot, list(plot.series))
