"""The papers' marks beside what came out, and whether each is met here.

A mark is of the medians of one run. `holds` is None where what it is of was not
measured, and "" where a figure of a paper has no mark of ours: it stands there
to be compared.
"""

import re

# Why marks are not met here, by what their names match: of those that were not
# when this was written, on the machines that docs/bench_schemes.md names.
REASONS = [
    (r"REWIND fig\. 3 left.*two layers over one,",
     "a record in two layers costs some 15 stores that are not logged here, "
     "and 76 in the paper: nine tenths of computing, the same for both, hide "
     "the difference"),
    (r"REWIND fig\. 6, as it is",
     "a log that is emptied often stays in the cache, which outweighs the "
     "checkpoints on memory as fast as this"),
    (r"REWIND fig\. 7.*batch",
     "an operation has few records, and the tree reads what it has just "
     "stored, which closes a group before it is full"),
    (r"REWIND fig\. 10, transactions a tree's",
     "the tree reads what it has just stored, which closes a group before it "
     "is full"),
    (r"REWIND fig\. 3 left.*brought home",
     "the checkpoint flushes each line, as unsafe-each does; the log comes on "
     "top"),
    (r"WrAP fig\. 13", "a tree reads what it has stored, and allocates"),
    (r"Archapt fig\. 9.*each waited for",
     "what somebody waits for is flushed after ten milliseconds, long before "
     "the queue is turned over"),
    (r"Archapt fig\. 9.*nobody waits",
     "a matrix is given up, and all of it flushed, as soon as one of its "
     "objects is written again"),
    (r"Archapt fig\. 7: part of the gap",
     "hardly fewer lines are written, and what is left of undo logging's cost "
     "is its log"),
]


class Points:
  """What bench_schemes has measured, found by what it is of."""

  def __init__(self, points):
    self._points = points

  def value(self, figure, series, measure=None, memory=None, x=None):
    """None: there is no such point. A store may have its alpha behind it."""
    for point in self._points:
      if (point["figure"] == figure
          and series in (point["series"], point["series"].split("@")[0])
          and (measure is None or point["measure"] == measure)
          and (memory is None or point["memory"] == memory)
          and (x is None or abs(point["x"] - x) < 1e-9)):
        return point["value"]
    return None

  def line(self, figure, series, memory, measure=None):
    """(x, value) of each, by x; of the first measure, where none is named."""
    found = [p for p in self._points
             if (p["figure"], p["series"], p["memory"])
             == (figure, series, memory)]
    measure = measure or (found[0]["measure"] if found else None)
    return sorted((p["x"], p["value"]) for p in found
                  if p["measure"] == measure)

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
  return next((why for pattern, why in REASONS if re.match(pattern, name)),
              "")


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
