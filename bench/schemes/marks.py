"""The papers' marks beside what came out, and whether each is met here.

A mark is of the medians of one run. `holds` is None where what it is of was not
measured, and "" where a figure of a paper has no mark of ours: it stands there
to be compared.
"""

# Why a mark is not met here, by the beginning of its name.
REASONS = {}


class Points:
  """What bench_schemes has measured, found by what it is of."""

  def __init__(self, points):
    self._points = points

  def value(self, figure, series, measure=None, memory=None, x=None):
    """None: there is no such point."""
    for point in self._points:
      if (point["figure"] == figure and point["series"] == series
          and (measure is None or point["measure"] == measure)
          and (memory is None or point["memory"] == memory)
          and (x is None or abs(point["x"] - x) < 1e-9)):
        return point["value"]
    return None

  def line(self, figure, series, memory, measure=None):
    """(x, value) of each, by x."""
    return sorted((p["x"], p["value"]) for p in self._points
                  if (p["figure"], p["series"], p["memory"])
                  == (figure, series, memory)
                  and (measure is None or p["measure"] == measure))

  def memories(self, figure):
    return list(dict.fromkeys(p["memory"] for p in self._points
                              if p["figure"] == figure))

  def series(self, figure):
    return list(dict.fromkeys(p["series"] for p in self._points
                              if p["figure"] == figure))


def ratio(a, b):
  return None if a is None or not b else a / b


def less(a, b):
  """By how much `a` is less than `b`, as a part of `b`."""
  part = ratio(a, b)
  return None if part is None else 1 - part


def crossing(falls_behind, stays):
  """The x from which on the first line is above the second; None: nowhere."""
  both = [(x, a, b) for (x, a), (y, b) in zip(falls_behind, stays) if x == y]
  for (x0, a0, b0), (x1, a1, b1) in zip(both, both[1:]):
    if a0 <= b0 and a1 > b1:
      gap0, gap1 = b0 - a0, a1 - b1
      return x0 + (x1 - x0) * gap0 / (gap0 + gap1)
  if both and all(a > b for _, a, b in both):
    return both[0][0]
  return None


def reason_of(name):
  return next((why for begin, why in REASONS.items()
               if name.startswith(begin)), "")


def mark(name, paper, target, value, holds=None, note=""):
  """`holds` tells whether a value is as the target says; None: no target."""
  met = ""
  if holds is not None:
    met = None if value is None else bool(holds(value))
  elif value is None:
    met = None
  return {"name": name, "paper": paper, "target": target, "here": value,
          "holds": met, "note": note,
          "reason": reason_of(name) if met is False else ""}


def written(value):
  return "not measured" if value is None else f"{value:.4g}"
