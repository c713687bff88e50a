"""Tables of the models' results, and the origin of these.

`make bench-schemes` runs the models itself. A model's results may be given as
a file instead; they may then be much older than the others.
"""

import datetime
import os

from doc_tables import HOLDS
from plots import engine_report, number

in_order = engine_report.in_order
WRAP, CRASH = "wrap_model", "crash_model"
# How the names of their runs begin, where these were part of the bench's.
RUN_HERE = {WRAP: "bench_controller, ", CRASH: "bench_crash_model, "}
FORM = "%Y-%m-%d %H:%M UTC"


# --- Origin of results.


def origin_of(path):
  """The path and the age of a file of results."""
  written = datetime.datetime.fromtimestamp(os.path.getmtime(path),
                                            datetime.timezone.utc)
  return {"file": path, "written": f"{written:{FORM}}"}


def of_this_run(results, model):
  return bool(results.get(model)) and any(
      load["run"].startswith(RUN_HERE[model]) for load in results["loads"])


def whose(results, model):
  """The origin of a model's results in words, with run and commit; "": there
  are none, or they are this run's."""
  found = results.get(model)
  if not found or of_this_run(results, model):
    return ""
  facts = found.get("facts", {}) if isinstance(found, dict) else {}
  given = results.get("given", {}).get(model, {})
  date = facts.get("date") or given.get("written")
  commit = facts.get("commit")
  words = [f"from {given.get('file', 'a file')}"]
  if date:
    words.append(f"of {date}{age(date, results['facts'].get('date'))}")
  words.append(f"commit {commit}" if commit else
               f"of which {'commit' if date else 'run and commit'} is not "
               "known")
  return ", ".join(words)


def age(date, of_run):
  """By how much it is older than the run, in words."""
  try:
    older = (datetime.datetime.strptime(of_run, FORM)
             - datetime.datetime.strptime(date, FORM))
  except (TypeError, ValueError):
    return ""
  for unit in ("days", "hours", "minutes"):
    count = older // datetime.timedelta(**{unit: 1})
    if count > 0:
      return f" ({count} {unit if count > 1 else unit[:-1]} before it)"
  return ""


# --- Tables.


def cell(value):
  if isinstance(value, bool) or not isinstance(value, (int, float)):
    return str(value)
  return f"{value:,}" if isinstance(value, int) else number(value)


def rows_table(rows):
  """Table of another program's rows: a column for each key."""
  heads = in_order(key for row in rows for key in row)
  return heads, [[cell(row.get(h, "-")) for h in heads] for row in rows]


def tables(title, model):
  """(title, table) of what another program wrote: `figures` with tables and
  marks of their own, or `rows`, or the rows alone."""
  if isinstance(model, list):
    model = {"rows": model}
  if model.get("rows"):
    yield title, rows_table(model["rows"])
  for figure in model.get("figures", ()):
    for table in figure["tables"]:
      yield (f"{title}: {figure['title']}, {table['title']}",
             (table["columns"], [[cell(value) for value in row]
                                 for row in table["rows"]]))
  of_figures = [[figure["title"], m["what"], HOLDS[m["met"]], m["ours"],
                 m["paper"]]
                for figure in model.get("figures", ())
                for m in figure["marks"]]
  if of_figures:
    yield (f"{title}: marks",
           (["", "mark", "verdict", "here", "the paper"], of_figures))
