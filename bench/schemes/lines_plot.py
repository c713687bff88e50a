"""A plot of lines, as SVG."""

import html

from plots import engine_report, number

WIDTH, HEIGHT = 520, 300
LEFT, RIGHT, TOP, BOTTOM = 76, 12, 18, 36
KEY_LINE = 13
COLOURS = ["#1b6ca8", "#c0392b", "#2e8b57", "#8e6c2f", "#7d5ba6", "#e08e79",
           "#5aa9d6", "#444444", "#d4a017", "#8a8a8a", "#b03a7a", "#3a7d7d"]


def line_chart(lines, x_title, y_title):
  """From 0 up; a key below.

  Args:
    lines: series to list of (x, y).
    x_title: what x is.
    y_title: the unit of y.
  """
  points = [point for line in lines.values() for point in line]
  top = engine_report.nice_ceiling(max((y for _, y in points), default=1))
  low, high = (f(x for x, _ in points) for f in (min, max))
  height = HEIGHT + KEY_LINE * len(lines)

  def at(x, y):
    part = (x - low) / (high - low) if high > low else 0.5
    return (LEFT + (WIDTH - LEFT - RIGHT) * part,
            TOP + (HEIGHT - TOP - BOTTOM) * (1 - y / top))

  parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
           f'height="{height}" font-family="sans-serif" font-size="11">']
  for i in range(5):
    y = at(low, top * i / 4)[1]
    parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" '
                 f'y2="{y:.1f}" stroke="#ddd"/><text x="{LEFT - 5}" '
                 f'y="{y + 4:.1f}" text-anchor="end">'
                 f"{number(top * i / 4) if i else 0}</text>")
    x = low + (high - low) * i / 4
    parts.append(f'<text x="{at(x, 0)[0]:.1f}" y="{HEIGHT - BOTTOM + 14}" '
                 f'text-anchor="middle">{x:g}</text>')
  parts.append(f'<text x="0" y="10">{html.escape(y_title)}</text>'
               f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 6}" '
               f'text-anchor="end">{html.escape(x_title)}</text>')
  for i, (series, line) in enumerate(lines.items()):
    colour = COLOURS[i % len(COLOURS)]
    path = " ".join("{:.1f},{:.1f}".format(*at(x, y)) for x, y in line)
    parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" '
                 'stroke-width="1.6"/>')
    for x, y in line:
      tip = html.escape(f"{series}: {number(y, 4)} at {x:g}")
      parts.append('<circle cx="{:.1f}" cy="{:.1f}" r="2.5"'.format(*at(x, y))
                   + f' fill="{colour}"><title>{tip}</title></circle>')
    y = HEIGHT + KEY_LINE * i
    parts.append(f'<rect x="{LEFT}" y="{y - 8}" width="9" height="9" '
                 f'fill="{colour}"/><text x="{LEFT + 14}" y="{y}">'
                 f"{html.escape(series)}</text>")
  parts.append("</svg>")
  return "".join(parts)
