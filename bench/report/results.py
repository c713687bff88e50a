"""The form of the results that every bench writes and the report reads.

A bench writes one JSON object to the file of --out, and prints it with --json:

    {"bench": "service",
     "facts": {"processor": "AMD EPYC", "scale": "quick"},
     "measurements": [
       {"workload": "put", "outstanding": 32, "subject": "redis",
        "ops_per_s": 12345.6, "rounds": [12000.0, 12345.6, 13000.0],
        "spread": 0.08, "p50_us": 81.5, "hit_rate": null,
        "processor_us_per_op": {"driver": 20.5, "master": 30.0}}]}

`bench` is the name of the bench, which selects the tables and plots of the
report. `facts` are the conditions of the figures, name to text. Any other
member that is a list of objects is a table of rows; the rest is settings of the
run, such as the values of flags.

A row is an object. Texts and whole numbers identify the row; the other numbers
are its figures.

- The name of a figure ends with its unit (`_ns`, `_us`, `_ms`, `_mib`,
  `_per_s`, `_per_tx`), unless the row has a field `unit` or `measure`.
- A figure is the median of the rounds. `rounds` has the values of the row's
  main figure (`ops_per_s`, `median` or `value`), one a round, in order;
  `spread` is (highest - lowest) / median of these, `low` and `high` are the
  ends.
- null: not measured.
- An object of numbers is a figure by part: processor time by role, time by step
  of a transaction, ratios by rival.

Tables that several benches have:

- `measurements`: what was measured.
- `subjects`: `name`, `kind` and `about` of each measured system.
- `targets`: `what` was aimed at; the figures `wanted` and `measured`; `met`.
- `marks`: what a paper claims and what was found: `name`, `paper` and `here`
  (texts or numbers), and `holds`: true, false or null, or another verdict in
  words; in some benches also `target`, `note` and `reason`.
- `figures`: tables that the bench lays out itself: `figure`, `title`, `tables`
  (each a `title`, `columns` and `rows`, a row being a list of cells) and
  `marks`.
"""

import json


def check(results):
  """Raises ValueError unless the results have the form."""
  if not isinstance(results, dict) or not isinstance(results.get("bench"), str):
    raise ValueError("it is not an object with the name of a bench")
  if not isinstance(results.get("facts"), dict):
    raise ValueError("it has no facts")


def load(path):
  """Reads a file. Raises OSError, and ValueError if the form is wrong."""
  with open(path, encoding="utf-8") as file:
    results = json.load(file)
  check(results)
  return results


def tables_of(results):
  """(name, rows) of each table that has rows."""
  for name, rows in results.items():
    if isinstance(rows, list) and rows and isinstance(rows[0], dict):
      yield name, rows
