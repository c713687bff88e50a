"""A plot of what planned stops cost: a point for each round."""

import html

WIDTH, HEIGHT = 560, 210
LEFT, RIGHT, TOP, BOTTOM = 150, 20, 14, 40
COLORS = {"write": "#1f77b4", "read": "#ff7f0e"}
ROW = 22


def nice(value):
  """The next of 10, 20, 50, 100, ... above it."""
  scale = 10
  while True:
    for step in (1, 2, 5):
      if value <= scale * step:
        return scale * step
    scale *= 10


def plot(rows, target):
  """`rows`: of the bench; those of stops are drawn. As SVG."""
  drawn = [row for row in rows if ": without a " in row["name"] and
           row["name"].startswith("stop ")]
  most = nice(max([target * 1.2] + [max(row["rounds"]) for row in drawn]))

  def x(value):
    return LEFT + (WIDTH - LEFT - RIGHT) * value / most

  parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
           f'height="{HEIGHT}" font-family="sans-serif" font-size="11">']
  bottom = HEIGHT - BOTTOM
  for i in range(6):
    at = x(most * i / 5)
    parts.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" '
                 f'y2="{bottom}" stroke="#ddd"/><text x="{at:.1f}" '
                 f'y="{bottom + 14}" text-anchor="middle">'
                 f"{most * i / 5:g}</text>")
  parts.append(f'<line x1="{x(target):.1f}" x2="{x(target):.1f}" y1="{TOP}" '
               f'y2="{bottom}" stroke="#c00" stroke-dasharray="4 3"/>'
               f'<text x="{x(target) + 4:.1f}" y="{TOP + 8}" fill="#c00">'
               f"{target} ms</text>")
  for i, row in enumerate(drawn):
    y = TOP + ROW * (i + 1)
    kind = "read" if "a read" in row["name"] else "write"
    role = row["name"].split(":")[0]
    parts.append(f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">'
                 f"{html.escape(role)}, {kind}s</text>")
    parts += [f'<circle cx="{x(value):.1f}" cy="{y}" r="3.5" fill-opacity='
              f'"0.6" fill="{COLORS[kind]}"><title>{value:.0f} ms</title>'
              "</circle>" for value in row["rounds"]]
  parts.append(f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 8}" '
               'text-anchor="end">longest time without one, ms</text></svg>')
  return "".join(parts)
