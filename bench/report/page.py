"""A report: its parts, and how they become text, Markdown and files."""

import dataclasses
import glob
import os

import plots
from tables import Table, as_markdown, as_text, item


@dataclasses.dataclass
class Report:
  """The report of one run of a bench.

  `parts` are Tables and Plots, in the order in which the page shows them.
  """
  title: str
  facts: list  # (name, value): the conditions of the figures
  parts: list
  notes: list = ()  # paragraphs below the facts
  warnings: list = ()

  def tables(self):
    return [part for part in self.parts if isinstance(part, Table)]

  def plots(self):
    return [part for part in self.parts if not isinstance(part, Table)]


def text(report):
  """The report for a terminal, without its plots."""
  parts = [f"{name}: {value}" for name, value in report.facts]
  parts += report.warnings
  for title, table, note in report.tables():
    parts += ["", title, *([note] if note else []), as_text(table)]
  return "\n".join([*parts, *report.notes]) + "\n"


def markdown(report, bench, form=plots.FORMATS[0]):
  """The page, which shows the plots that stand beside it."""
  parts = [f"# {report.title}", ""]
  parts += [item(f"{name}: {value}") for name, value in report.facts]
  for paragraph in report.notes:
    parts += ["", paragraph]
  for warning in report.warnings:
    parts += ["", f"**{warning}**"]
  for part in report.parts:
    if isinstance(part, Table):
      parts += ["", f"## {part.title}", "",
                *([part.note, ""] if part.note else []),
                as_markdown(part.table).rstrip()]
    else:
      parts += ["", f"![{part.title}]({bench}-{part.name}.{form})"]
  return "\n".join(parts) + "\n"


def write(report, bench, folder, forms=plots.FORMATS[:1]):
  """Writes BENCH.md, and BENCH-*.svg or .png in place of those of an earlier
  run. Returns the paths. Raises OSError."""
  page = os.path.join(folder, f"{bench}.md")
  with open(page, "w", encoding="utf-8") as file:
    file.write(markdown(report, bench, forms[0]))
  for form in plots.FORMATS:
    for old in glob.glob(os.path.join(glob.escape(folder),
                                      f"{bench}-*.{form}")):
      os.remove(old)
  written = [page]
  for plot in report.plots():
    for form in forms:
      written.append(os.path.join(folder, f"{bench}-{plot.name}.{form}"))
      plots.write(plot, written[-1])
  return written
