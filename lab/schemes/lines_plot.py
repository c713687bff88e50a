"""A plot of lines, as SVG."""

import html
import math

from plots import engine_report, number

WIDTH, HEIGHT = 540, 320
# From this number of series on, the plot is wider and its key has two columns.
MANY, WIDE = 8, 860
LEFT, RIGHT, TOP, BOTTOM = 66, 34, 30, 38
KEY_LINE = 15
# Lines of one scheme have its colour: the second is dashed, and so on.
DASHES = ("", "7 3", "2 3", "9 3 2 3", "1 5")
# Schemes whose colours resemble others': the dash of their first line.
DASHED = {"undo-each": 1, "unsafe-each": 1, "cached": 2}
# Colours of series that are not schemes.
OTHERS = ("#2a7fc4", "#d0402f", "#2e9b57", "#d99a00", "#8a63c8", "#e0408f",
          "#12b3a0", "#9a6b2f")
# With an axis from 0 what is so many times smaller lies on it.
MOST_LINEAR = 8
# Series with ranges stand beside each other by so much, or by less where places
# are near: ranges of all within a part of the way to the next place.
MOST_APART, PART_OF_GAP = 4, 0.7
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
  """A step for about five marks: 1, 2 or 5 times a power of ten."""
  power = 10.0 ** math.floor(math.log10(width / 5))
  return next(f * power for f in (1, 2, 5, 10) if f * power * 5 >= width * 0.99)


def tick(value):
  if abs(value) >= 1e6:
    return f"{value / 1e6:.4g} M"
  return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def key(series):
  """The name of a series for a reader, without the number that means never."""
  return series.replace("checkpoint=1000000000", "no checkpoints of its own")


class Chart:
  """One plot."""

  def __init__(self, lines):
    points = [point for line in lines.values() for point in line]
    self._lines = lines
    self._width = WIDE if len(lines) > MANY else WIDTH
    self._x = Axis([point[0] for point in points], from_zero=False)
    self._y = Axis([value for point in points for value in point[1:]],
                   from_zero=True)
    self._apart = self._how_far_apart(points)
    # Half of what all series take at one place.
    self._margin = self._apart * (len(lines) - 1) / 2

  def _how_far_apart(self, points):
    """Distance between series at the same place, so that their ranges do not
    lie on one line; 0 if no series has a range."""
    if all(len(point) < 3 or point[2] == point[3] for point in points):
      return 0
    places = sorted({self._x(point[0]) for point in points})
    gaps = [b - a for a, b in zip(places, places[1:])]
    room = min(gaps, default=1) * (self._width - LEFT - RIGHT) * PART_OF_GAP
    return min(MOST_APART, room / max(len(self._lines), 1))

  def _at_x(self, x):
    left = LEFT + self._margin
    return left + (self._width - RIGHT - self._margin - left) * self._x(x)

  def _at_y(self, y):
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - self._y(y))

  def _axes(self, x_title, y_title):
    floor = HEIGHT - BOTTOM
    for value in self._y.ticks:
      y = self._at_y(value)
      yield (f'<line class="grid" x1="{LEFT}" x2="{self._width - RIGHT}" '
             f'y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/><text x="{LEFT - 5}" '
             f'y="{y + 4:.1f}" text-anchor="end">{tick(value)}</text>')
    for value in self._x.ticks:
      x = self._at_x(value)
      yield (f'<text x="{x:.1f}" y="{floor + 15}" text-anchor="middle">'
             f"{tick(value)}</text>")
    y_title += ", logarithmic" if self._y.logarithmic else ""
    x_title += ", logarithmic" if self._x.logarithmic else ""
    yield (f'<text x="0" y="11">{html.escape(y_title)}</text>'
           f'<text x="{self._width - RIGHT}" y="{HEIGHT - 6}" '
           f'text-anchor="end">{html.escape(x_title)}</text>')

  def _line(self, i, series, line, stroke):
    """The series that is the i-th."""
    colour, dashes = stroke
    def at(point):
      return (self._at_x(point[0]) - self._margin + i * self._apart,
              self._at_y(point[1]))
    path = " ".join("{:.1f},{:.1f}".format(*at(point)) for point in line)
    yield (f'<polyline points="{path}" fill="none" stroke="{colour}" '
           f'stroke-width="1.7" stroke-dasharray="{dashes}"/>')
    for point in line:
      x, y, *between = point
      left, top = at(point)
      tip = f"{key(series)}: {number(y, 4)} at {x:g}"
      if between:
        tip += f" ({number(between[0], 4)} to {number(between[1], 4)})"
        low, high = (self._at_y(end) for end in between)
        yield (f'<line x1="{left:.1f}" x2="{left:.1f}" y1="{low:.1f}" '
               f'y2="{high:.1f}" stroke="{colour}" stroke-width="1.5" '
               'opacity="0.6"/>')
      yield (f'<circle cx="{left:.1f}" cy="{top:.1f}" r="2.6" fill="{colour}">'
             f"<title>{html.escape(tip)}</title></circle>")

  def _key(self, strokes_of):
    """(SVG, how high it is): a column, or two."""
    columns = 2 if self._width == WIDE else 1
    rows = -(-len(self._lines) // columns)
    parts = []
    for i, series in enumerate(self._lines):
      colour, dashes = strokes_of[series]
      x = LEFT + i // rows * (self._width - LEFT) / columns
      y = HEIGHT + KEY_LINE * (i % rows) + KEY_LINE
      parts.append(
          f'<line x1="{x:.0f}" x2="{x + 30:.0f}" y1="{y - 4}" y2="{y - 4}" '
          f'stroke="{colour}" stroke-width="2.5" stroke-dasharray="{dashes}"/>'
          f'<text x="{x + 37:.0f}" y="{y}">{html.escape(key(series))}</text>')
    return "".join(parts), KEY_LINE * (rows + 1)

  def svg(self, x_title, y_title):
    strokes_of = strokes(self._lines)
    below, height = self._key(strokes_of)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{self._width}" '
             f'height="{HEIGHT + height}" font-family="sans-serif" '
             'font-size="11">', *self._axes(x_title, y_title)]
    for i, (series, line) in enumerate(self._lines.items()):
      parts += self._line(i, series, line, strokes_of[series])
    return "".join([*parts, below, "</svg>"])


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
