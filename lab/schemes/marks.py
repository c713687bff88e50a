"""The papers' marks beside what came out, and whether each is met here.

A mark is of the medians of one run. `holds` is None where what it is of was not
measured, "" where a figure of a paper has no mark of ours: it stands there to
be compared; DISTURBED where the rounds tell so little of it that the median
says nothing, and UNJUDGED where there are too few of them (`settle`); UNDEFINED
where all was measured and no number comes of it.
"""

import math
import re

DISTURBED = "disturbed"
UNJUDGED = "not judged"
# With fewer rounds there is no median and no range.
LEAST_ROUNDS = 3
# The memory of what is not timed: one pass, in place of rounds.
COUNTED = "by count"
# Measured, and no number: where lines cross that do not, a part of nothing.
NOWHERE = "nowhere"
UNDEFINED = "undefined"
# Digits of a number in a note, as in tables.
DIGITS, ALL_PLACES = 3, 99

# Why marks are not met here, by what their names match: of those that were not
# when this was written, on the machines that lab/docs/schemes.md names.
REASONS = [
    (r"REWIND fig\. 3 left.*two layers over one,",
     "a record in two layers costs some 15 stores that are not logged here, "
     "and 76 in the paper: nine tenths of computing, the same for both, hide "
     "the difference"),
    (r"REWIND fig\. 5,",
     "what force writes back at each store costs 1.5 to 3 ms of 602 "
     "transactions, and recovery saves less by it: without force all is stored "
     "again with one drain, in some 0.3 ms more, 1 to 1.6 at 150 ns a line; "
     "why it is otherwise in the paper is not known"),
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
    (r"WrAP's timing model, fig\. 9: .*nearly as fast as cached",
     "a fence's wait for the medium is most of a short transaction, and cached "
     "has none; where a call of the library takes 200 cycles both are as near "
     "as in the paper"),
    (r"WrAP's timing model, fig\. 10: slopes.*tiny caches",
     "all wait for what they miss; non-atomic jumps with its first fence and "
     "is flat from there, as lines that it has flushed are not written again "
     "when they are evicted; the paper's text does not explain its order"),
    (r"WrAP's timing model, fig\. 10: with no wraps.*tiny caches",
     "most of what is evicted stays in the victim cache's sets until these are "
     "needed: its writes are put off, not saved; with the hash table, from "
     "which it goes home at once, all are the same"),
    (r"WrAP's timing model, fig\. 12: .*undo-grouped",
     "a rival of ours, which waits for all of a wrap's old values once; the "
     "paper's undo waits twice for each store, and over it both marks are met"),
    (r"Archapt fig\. 9, YCSB.*least on E, without waits:",
     "nearly half of E's lines are left to be flushed later: with these it is "
     "the least"),
    (r"Archapt fig\. 9.*each waited for",
     "a commit with a waiting thread is flushed after ten milliseconds, long "
     "before the queue is turned over"),
    (r"Archapt fig\. 9.*without waits",
     "a matrix is given up, and all of it flushed, as soon as one of its "
     "objects is written again"),
    (r"Archapt fig\. 7: part of the gap",
     "as many lines are written as by undo-own, where objects are used again; "
     "and to make checks and sums takes time"),
    (r"Archapt: part of a transaction that checks and sums are",
     "sums and hashes of all of an object's lines, whatever part of them a "
     "transaction has changed, and a log's checks; the paper's are of columns "
     "and rows alone"),
    (r"REWIND fig\. 11.*rewind-2",
     "two layers log the stores of a tree of records, too: five times the "
     "fences, and seven times the lines, of one layer in groups"),
    (r"REWIND fig\. 11.*the aim",
     "1.39 is of two layouts, REWIND's the better one: of the same layout the "
     "paper has 7.37"),
    (r"WrAP fig\. 8, .*, as it is: p50, undo-each over wrap",
     "memory as fast as this makes who waits for each store wait less than in "
     "the paper: with 150 ns more a line and drain it is met"),
    (r"Archapt fig\. 10",
     "undo-own's objects lie in the same heap, aligned alike: what the paper "
     "gains by its allocator both have"),
    (r"Archapt table 4, ycsb-b",
     "a queue as long as the cache takes lines for evicted that half of its "
     "sets still hold; with one of two caches there are hardly any"),
]


class Points:
  """The measurements of bench_schemes, found by their fields.

  With a `turn`, the values of one round in place of medians: stores take turns
  in each round, so a disturbance of a round affects all that is compared.
  Counts are the same in all rounds; a point with fewer rounds has no value.
  """

  def __init__(self, points, turn=None):
    self._points = []
    for point in points:
      rounds = point.get("rounds") or [point["value"]]
      if turn is None:
        self._points.append(point)
      elif len(rounds) == 1 and point["memory"] == COUNTED:
        self._points.append({**point, "value": rounds[0]})
      elif turn < len(rounds):
        self._points.append({**point, "value": rounds[turn]})

  @staticmethod
  def turns(points):
    """How many rounds there are, of what has most."""
    return max((len(point.get("rounds") or ()) for point in points), default=0)

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

  def rounds(self, figure, series, memory):
    """The rounds of each x, whatever the turn; only where there is one
    measure."""
    return {p["x"]: p.get("rounds") or [p["value"]] for p in self._points
            if (p["figure"], p["series"], p["memory"])
            == (figure, series, memory)}

  def memories(self, figure):
    return list(dict.fromkeys(p["memory"] for p in self._points
                              if p["figure"] == figure))

  def series(self, figure):
    return list(dict.fromkeys(p["series"] for p in self._points
                              if p["figure"] == figure))


def is_number(value):
  return isinstance(value, (int, float)) and not isinstance(value, bool)


def ratio(a, b):
  """None: one of them was not measured."""
  if a is None or b is None:
    return None
  return a / b if is_number(a) and is_number(b) and b else UNDEFINED


def less(a, b):
  """The part of `b` by which `a` is less."""
  part = ratio(a, b)
  return 1 - part if is_number(part) else part


def percent(part):
  return 100 * part if is_number(part) else part


def mean(values):
  """None: there are none, or not all of them were measured."""
  values = list(values)
  if not values or None in values:
    return None
  return (sum(values) / len(values) if all(map(is_number, values))
          else UNDEFINED)


def gaps(falls_behind, stays):
  """(x, how far the first line is above the second) where there are both."""
  other = dict(stays)
  return [(x, y - other[x]) for x, y in falls_behind if x in other]


def crossing(falls_behind, stays):
  """The x from which on the first line is above the second; None: nowhere,
  or from below the smallest x that was measured."""
  both = gaps(falls_behind, stays)
  if not both or both[-1][1] <= 0:
    return None
  for (x0, gap0), (x1, gap1) in reversed(list(zip(both, both[1:]))):
    if gap0 <= 0:
      return x0 + (x1 - x0) * -gap0 / (gap1 - gap0)
  return None


def uncrossed(who, falls_behind, stays):
  """The note for lines that do not cross, the first of which is of `who`; "":
  they do, or there are none."""
  both = gaps(falls_behind, stays)
  if not both or crossing(falls_behind, stays) is not None:
    return ""
  from_x, to_x = both[0][0], both[-1][0]
  if all(gap > 0 for _, gap in both):
    how = "takes more everywhere: no crossing was seen"
  elif all(gap <= 0 for _, gap in both):
    how = "takes less everywhere"
  else:
    how = "takes less in the end"
  return f"{who} {how}, from {from_x:g} to {to_x:g}"


def reason_of(name):
  return next((why for pattern, why in REASONS if re.match(pattern, name)),
              "")


def mark(name, paper, target, value, holds=None, note="", least=None):
  """`holds` tells whether a value is as the target says; None: no target. What
  is below `least` cannot be: it has been disturbed."""
  met = ""
  if value is None:
    met = None
  elif holds is not None:
    met = UNDEFINED if value == UNDEFINED else (
        value != NOWHERE and bool(holds(value)))
  return {"name": name, "paper": paper, "target": target, "here": value,
          "low": None, "high": None, "rounds": None, "holds": met, "note": note,
          "reason": reason_of(name) if met is False else "", "test": holds,
          "least": least}


def distance(holds, value):
  """How far it is from a value to where the verdict is another; None: it is the
  same wherever one looks, as it does not go by the value."""
  verdict = bool(holds(value))
  step = 1e-6 * max(abs(value), 1e-3)
  while step < 1e3 * max(abs(value), 1):
    if (bool(holds(value + step)) != verdict
        or bool(holds(value - step)) != verdict):
      return step
    step *= 1.05
  return None


def middle(values):
  """Without the outermost two, where there are five."""
  ordered = sorted(values)
  return ordered[1:-1] if len(ordered) >= 5 else ordered


def steady(found, turns):
  """Whether the rounds' marks let one tell what that of the medians says: from
  low to high it is no further than to the other verdict, and they say the
  same, all but every fifth of them."""
  value = found["here"]
  verdicts = [one["holds"] for one in turns if one["holds"] is not None]
  against = sum(verdict != found["holds"] for verdict in verdicts)
  if against > len(verdicts) // 5:
    return False
  values = middle(one["here"] for one in turns if is_number(one["here"]))
  if value == NOWHERE or len(values) < 2:
    return True
  far = distance(found["test"], value)
  return far is None or values[-1] - values[0] <= far


def impossible(found):
  """Whether the mark is of a disturbed run, however near its rounds are."""
  return (found["least"] is not None and found["here"] != NOWHERE
          and found["here"] < found["least"])


def settle(found, by_turn, counted=()):
  """The marks with the least and the most of their rounds, and how many these
  are; and a verdict only where there is one.

  Args:
    found: marks of the medians.
    by_turn: for each round the marks of what it came to.
    counted: the same marks of what has no rounds alone, as it is not timed.
  """
  of_counts = {one["name"] for one in counted if one["here"] is not None}
  for one in found:
    turns = [same for marks in by_turn for same in marks
             if same["name"] == one["name"] and same["here"] is not None]
    values = [same["here"] for same in turns if is_number(same["here"])]
    if len(values) > 1 and min(values) != max(values):
      one["low"], one["high"] = min(values), max(values)
    if isinstance(one["note"], Note):
      one["note"] = one["note"].settled(
          same["note"] for same in turns if isinstance(same["note"], Note))
    one["rounds"] = 0 if one["name"] in of_counts else len(turns)
    if isinstance(one["holds"], bool):
      one["holds"] = verdict_of(one, turns)
    if not isinstance(one["holds"], bool):
      # The known reason of a mark that is not met does not apply to an open
      # one.
      one["reason"] = ""
  return [{key: value for key, value in one.items()
           if key not in ("test", "least")} for one in found]


def verdict_of(one, turns):
  if len(turns) < LEAST_ROUNDS:
    return UNJUDGED
  if impossible(one) or not steady(one, turns):
    return DISTURBED
  return one["holds"]


# --- What stands beside a mark.


def exponent(value):
  return math.floor(math.log10(abs(value)))


def written(value, rounds=(), places=ALL_PLACES):
  """With no more digits than tables have, and none that is less than a third of
  what the rounds are apart, a median being nearer than these; the first is
  always there.

  Args:
    value: what it came to; a word, or None, where it is no number.
    rounds: what each came to, where there are such.
    places: most behind the point.
  """
  if value is None:
    return "not measured"
  if not is_number(value):
    return value
  spread = max(rounds, default=0) - min(rounds, default=0)
  if value == 0 or not spread and value == int(value):
    return f"{value:,.0f}"
  digits = DIGITS - 1 - exponent(value)
  if spread:
    digits = min(digits, max(-exponent(spread / 3), -exponent(value)))
  digits = min(digits, places)
  # Nothing is not less than nothing.
  return f"{round(value, digits) or 0:,.{max(digits, 0)}f}"


class Note(str):
  """A text with values in it, each of which may be None, or a word."""

  def __new__(cls, text, *values, places=ALL_PLACES):
    note = super().__new__(cls, text.format(
        *(written(value, places=places) for value in values)))
    note.text, note.values, note.places = text, values, places
    return note

  def settled(self, by_turn):
    """The text with as many digits as rounds let one tell.

    Args:
      by_turn: the same note of each round.
    """
    rounds = zip(*(note.values for note in by_turn))
    of_value = [[v for v in values if is_number(v)] for values in rounds]
    of_value = of_value or [()] * len(self.values)
    return self.text.format(*(
        written(value, values, self.places)
        for value, values in zip(self.values, of_value)))
