"""A plot of lines, as SVG."""

import html
import math

from plots import engine_report, number

WIDTH, HEIGHT = 540, 320
LEFT, RIGHT, TOP, BOTTOM = 66, 34, 30, 38
KEY_LINE = 15
# Lines of one scheme have its colour: the second is dashed, and so on.
DASHES = ("", "7 3", "2 3", "9 3 2 3", "1 5")
# Whose colours are near to others', from the first on.
DASHED = {"undo-each": 1, "unsafe-each": 1, "cached": 2}
# For what is no scheme.
OTHERS = ("#2a7fc4", "#d0402f", "#2e9b57", "#d99a00", "#8a63c8", "#e0408f",
          "#12b3a0", "#9a6b2f")
# With an axis from 0 what is so many times smaller lies on it.
MOST_LINEAR = 8
# For a plot that stands alone; on a page the page says it.
STYLE = ("<style>text { fill: #222 } .grid { stroke: #ddd } "
         "@media (prefers-color-scheme: dark) { text { fill: #ddd } "
         ".grid { stroke: #3a3e45 } }</style>")


def scheme_of(series):
  """The store's name that a series' begins with."""
  return series.split(",")[0].split("+")[0].split("@")[0].strip()


def strokes(names):
  """(colour, dashes) of each series."""
  seen, found, others = {}, {}, 0
  for name in names:
    scheme = scheme_of(name)
    colour = engine_report.COLOURS.get(scheme)
    if colour is None and scheme not in seen:
      others += 1
    colour = colour or OTHERS[(others - 1) % len(OTHERS)]
    turn = seen.get(scheme, 1 if "-force-" in scheme
                    else DASHED.get(scheme, 0))
    seen[scheme] = turn + 1
    found[name] = colour, DASHES[turn % len(DASHES)]
  return found


class Axis:
  """Where values are between 0 and 1, and which are marked."""

  def __init__(self, values, from_zero):
    least, most = min(values, default=0), max(values, default=1)
    self.logarithmic = least > 0 and most >= MOST_LINEAR * least
    if self.logarithmic:
      self._low, self._high = math.log10(least), math.log10(most)
      self.ticks = self._powers(least, most)
    else:
      low = 0 if from_zero else least
      step = nice_step((most - low) or 1)
      first, last = math.floor(low / step), math.ceil(most / step - 1e-9)
      if not from_zero:
        first = math.ceil(low / step - 1e-9)
        last = math.floor(most / step + 1e-9)
      self.ticks = [i * step for i in range(first, last + 1)]
      self._low = low
      self._high = max(most, self.ticks[-1]) if self.ticks else most
    if self._high <= self._low:
      self._low, self._high = self._low - 0.5, self._high + 0.5

  def _powers(self, least, most):
    """1, 2 and 5 of each power of ten, or less where there are many."""
    for factors in ((1, 2, 5), (1, 3), (1,)):
      powers = range(math.floor(self._low), math.ceil(self._high) + 1)
      ticks = [factor * 10.0 ** power for power in powers for factor in factors]
      ticks = [t for t in ticks if least * 0.999 <= t <= most * 1.001]
      if len(ticks) <= 9:
        break
    return ticks

  def __call__(self, value):
    value = math.log10(value) if self.logarithmic else value
    return (value - self._low) / (self._high - self._low)


def nice_step(width):
  """Of some five marks: 1, 2 or 5 times a power of ten."""
  power = 10.0 ** math.floor(math.log10(width / 5))
  return next(f * power for f in (1, 2, 5, 10) if f * power * 5 >= width * 0.99)


def tick(value):
  if abs(value) >= 1e6:
    return f"{value / 1e6:.4g} M"
  return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def key(series):
  """As a reader has it, who knows no number that stands for never."""
  return series.replace("checkpoint=1000000000", "no checkpoints")


class Chart:
  """One plot."""

  def __init__(self, lines):
    points = [point for line in lines.values() for point in line]
    self._lines = lines
    self._x = Axis([point[0] for point in points], from_zero=False)
    self._y = Axis([point[1] for point in points], from_zero=True)

  def _at(self, x, y):
    return (LEFT + (WIDTH - LEFT - RIGHT) * self._x(x),
            TOP + (HEIGHT - TOP - BOTTOM) * (1 - self._y(y)))

  def _axes(self, x_title, y_title):
    floor = HEIGHT - BOTTOM
    for value in self._y.ticks:
      y = TOP + (floor - TOP) * (1 - self._y(value))
      yield (f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" '
             f'y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/><text x="{LEFT - 5}" '
             f'y="{y + 4:.1f}" text-anchor="end">{tick(value)}</text>')
    for value in self._x.ticks:
      x = LEFT + (WIDTH - LEFT - RIGHT) * self._x(value)
      yield (f'<text x="{x:.1f}" y="{floor + 15}" text-anchor="middle">'
             f"{tick(value)}</text>")
    y_title += ", logarithmic" if self._y.logarithmic else ""
    x_title += ", logarithmic" if self._x.logarithmic else ""
    yield (f'<text x="0" y="11">{html.escape(y_title)}</text>'
           f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 6}" '
           f'text-anchor="end">{html.escape(x_title)}</text>')

  def _line(self, series, line, colour, dashes):
    path = " ".join("{:.1f},{:.1f}".format(*self._at(*point[:2]))
                    for point in line)
    yield (f'<polyline points="{path}" fill="none" stroke="{colour}" '
           f'stroke-width="1.7" stroke-dasharray="{dashes}"/>')
    for x, y, *between in line:
      tip = f"{key(series)}: {number(y, 4)} at {x:g}"
      if between:
        tip += f" ({number(between[0], 4)} to {number(between[1], 4)})"
        yield self._spread(x, between, colour)
      yield ('<circle cx="{:.1f}" cy="{:.1f}" r="2.6"'.format(*self._at(x, y))
             + f' fill="{colour}"><title>{html.escape(tip)}</title></circle>')

  def _spread(self, x, between, colour):
    """From the least to the most of the rounds, as far as there is room."""
    places = [min(max(self._at(x, y)[1], TOP - 8), HEIGHT - BOTTOM)
              if y > 0 or not self._y.logarithmic else HEIGHT - BOTTOM
              for y in between]
    x = self._at(x, self._y.ticks[0] if self._y.ticks else 1)[0]
    return (f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{places[0]:.1f}" '
            f'y2="{places[1]:.1f}" stroke="{colour}" stroke-width="1" '
            'opacity="0.5"/>')

  def svg(self, x_title, y_title):
    height = HEIGHT + KEY_LINE * len(self._lines)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
             f'height="{height}" font-family="sans-serif" font-size="11">',
             *self._axes(x_title, y_title)]
    of_series = strokes(self._lines)
    for i, (series, line) in enumerate(self._lines.items()):
      colour, dashes = of_series[series]
      parts += self._line(series, line, colour, dashes)
      y = HEIGHT + KEY_LINE * i + 5
      parts.append(
          f'<line x1="{LEFT}" x2="{LEFT + 30}" y1="{y - 4}" y2="{y - 4}" '
          f'stroke="{colour}" stroke-width="2.5" stroke-dasharray="{dashes}"/>'
          f'<text x="{LEFT + 37}" y="{y}">{html.escape(key(series))}</text>')
    return "".join([*parts, "</svg>"])


def line_chart(lines, x_title, y_title):
  """A plot with a key below; logarithmic where values are far apart.

  Args:
    lines: series to list of (x, y) or (x, y, least, most).
    x_title: what x is.
    y_title: the unit of y.
  """
  return Chart(lines).svg(x_title, y_title)


def alone(svg):
  """The plot as a file of its own."""
  return svg.replace(">", f">{STYLE}", 1)
