"""The origin of the models' results.

`make bench-schemes` runs the models itself. A model's results may be given as
a file instead; they may then be much older than the others.
"""

import datetime
import os

WRAP, CRASH = "wrap_model", "crash_model"
# How the names of their runs begin, where these were part of the bench's.
RUN_HERE = {WRAP: "bench_controller, ", CRASH: "bench_crash_model, "}
FORM = "%Y-%m-%d %H:%M UTC"


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
