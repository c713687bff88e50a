#!/usr/bin/python3
"""Tables and plots of what a bench has measured.

Without a folder it prints the tables. With a folder it writes BENCH.md (tables
and plots) and BENCH-*.svg (the plots) there, in place of those of an earlier
run. Exits with 0, with 1 when a file cannot be read or written or has not the
form of results (results.py), with 2 for wrong arguments.
"""

import argparse
import importlib
import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LAB = os.path.join(ROOT, "lab", "schemes")
sys.path.insert(0, HERE)
# pylint: disable=wrong-import-position
import page
import plots
import results as form
import views

# The modules that make reports, by bench. Their functions: `report`; `prepare`,
# which completes results of an earlier version; `text` for the terminal.
MODULES = {"engine": "engine_view", "drains": "engine_view",
           "service": "service_view", "chain": "chain_view",
           "schemes": "schemes_view"}
VIEWS = {"failover": views.failover, "transport": views.transport,
         "connections": views.connections}


def report_of(results):
  """(Report, text for the terminal)."""
  bench = results["bench"]
  if bench not in MODULES:
    made = VIEWS.get(bench, views.any_bench)(results)
    return made, page.text(made)
  sys.path.append(LAB)
  module = importlib.import_module(MODULES[bench])
  if hasattr(module, "prepare"):
    module.prepare(results)
  made = module.report(results)
  return made, getattr(module, "text", lambda _: page.text(made))(results)


def formats(text):
  found = text.split(",")
  if not found or not set(found) <= set(plots.FORMATS):
    raise argparse.ArgumentTypeError(f"some of {','.join(plots.FORMATS)}")
  return found


def main(words):
  parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
  parser.add_argument("results", metavar="RESULTS.json",
                      help="what a bench has written with --out")
  parser.add_argument("folder", nargs="?", metavar="FOLDER",
                      help="for BENCH.md and BENCH-*.svg; without it the "
                           "tables are printed")
  parser.add_argument("--formats", type=formats, default=["svg"],
                      help="of plots: svg, png or both (default: svg); the "
                           "page shows the first")
  settings = parser.parse_args(words)
  try:
    results = form.load(settings.results)
    made, text = report_of(results)
    if settings.folder is None:
      sys.stdout.write(text)
    else:
      written = page.write(made, results["bench"], settings.folder,
                           settings.formats)
      print(f"{written[0]}, {len(written) - 1} plots beside it")
  except (OSError, ValueError, KeyError, TypeError) as error:
    print(f"report.py: {settings.results}: {error!r}", file=sys.stderr)
    return 1
  return 0


if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
