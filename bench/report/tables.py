"""Tables of reports, as text and as Markdown.

A table is (heads, lines): a list of texts, and a list of lists of texts of the
same length.
"""

import math
import textwrap
import typing

# Widths at which the terminal wraps heads, unless cells are wider, and cells.
HEAD, CELL = 16, 40
PAGE = 120  # columns of Markdown


class Table(typing.NamedTuple):
  """A table of a report, with the sentence that stands above it."""
  title: str
  table: tuple
  note: str = ""


def in_order(values):
  """The distinct values, by their first appearance."""
  return list(dict.fromkeys(values))


def number(value, digits=3):
  """The value with `digits` significant digits; a dash for None."""
  if value is None:
    return "-"
  if value == 0:
    return "0"
  if abs(value) >= 10 ** digits:
    return f"{value:,.0f}"
  places = max(digits - 1 - math.floor(math.log10(abs(value))), 0)
  return f"{value:.{places}f}"


def percent(part, places=0):
  return "-" if part is None else f"{100 * part:.{places}f} %"


def of_rows(rows, columns, repeated=0):
  """A table with a line for each row.

  Args:
    rows: of results.
    columns: (head, cell) of each; a cell is the name of a figure, or a function
        that makes a text or a number of the row.
    repeated: so many first cells are empty where all of them equal those above.
  """
  lines, before = [], None
  for row in rows:
    line = [_cell(row, what) for _, what in columns]
    first = line[:repeated]
    lines.append([*([""] * repeated if first == before else first),
                  *line[repeated:]])
    before = first
  return [head for head, _ in columns], lines


def _cell(row, what):
  value = what(row) if callable(what) else row.get(what)
  return value if isinstance(value, str) else number(value)


def as_cell(value):
  """A cell for a value of any kind: whole numbers keep all digits."""
  if isinstance(value, bool) or not isinstance(value, (int, float)):
    return "-" if value is None else str(value)
  return f"{value:,}" if isinstance(value, int) else number(value)


def of_fields(rows):
  """A table of all fields of the rows that are texts or numbers."""
  heads = in_order(key for row in rows for key, value in row.items()
                   if not isinstance(value, (list, dict)))
  return heads, [[as_cell(row.get(head)) for head in heads] for row in rows]


def item(text):
  """An item of a list of Markdown."""
  return textwrap.fill(f"- {text}", width=PAGE, subsequent_indent="  ")


def as_markdown(table):
  heads, lines = table
  return "\n".join(["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|",
                    *("| " + " | ".join(line) + " |" for line in lines)]) + "\n"


def as_text(table):
  """Aligned columns; long cells continue on the next lines."""
  heads, lines = table
  limits = [min(max(len(line[i]) for line in [[""] * len(heads), *lines]), CELL)
            for i in range(len(heads))]
  rows = [[textwrap.wrap(word, max(limit, HEAD), break_on_hyphens=False)
           or [""] for word, limit in zip(line, limits)]
          for line in [heads, *lines]]
  widths = [max(len(part) for row in rows for part in row[i])
            for i in range(len(heads))]
  text = []
  for row in rows:
    for i in range(max(map(len, row))):
      text.append("  ".join((cell[i] if i < len(cell) else "").ljust(width)
                            for cell, width in zip(row, widths)).rstrip())
  return "\n".join(text)
