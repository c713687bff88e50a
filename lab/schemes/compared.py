"""The papers' figures that have no mark, beside ours, in few lines.

Results of one figure that differ only by where they were measured share a line.
"""

import re

# The conditions in a name: the memory, or the operation and its object.
WHERE = re.compile(
    r"(?:, )?\b("
    r"as it is|\d+ ns a line(?: and drain)?|\d+ inserts|"
    r"(?:overwrite(?:, zipfian)?|ycsb-[a-f]), \d+ B|\d+ B in the cache|\d+ B|"
    r"ycsb-[a-f]|tpcc-mix)(?=$|[,:])")
HEADS = ["figure", "the paper", "here, and what the rounds were between",
         "beside it"]


def table(marks, value_of):
  """A line for each that differs by where alone.

  Args:
    marks: those without a target.
    value_of: what a mark came to, in words.
  """
  lines = {}
  for mark in marks:
    what, where = split(mark["name"])
    lines.setdefault((what, mark["paper"]), []).append((where, mark))
  return HEADS, [
      [what, paper,
       "; ".join(f"{where}: {value_of(mark)}" if where else value_of(mark)
                 for where, mark in found),
       notes(mark["note"] for _, mark in found)]
      for (what, paper), found in lines.items()]


def split(name):
  """The name without the place, and the place; "": the name has none."""
  found = WHERE.search(name)
  if not found:
    return name, ""
  return name[:found.start()] + name[found.end():], found[1]


def notes(texts):
  """Joins the notes; a common beginning appears once."""
  texts = list(texts)
  begins = {text.partition(": ")[0] for text in texts}
  if len(texts) > 1 and len(begins) == 1 and all(": " in t for t in texts):
    return f"{begins.pop()}: " + "; ".join(
        text.partition(": ")[2] for text in texts)
  return "; ".join(dict.fromkeys(filter(None, texts)))
