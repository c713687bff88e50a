"""The page of `make bench-schemes`, of tables and plots that are there."""

import html
import re

import marks
from plots import engine_report

LEGEND = (
    "Medians of rounds in which stores take turns; below a figure of a paper, "
    "and as a thin line in a plot, stands between which values its rounds "
    "were; so it does in the tables with spreads. Stores of one place of a "
    "plot are a little apart, so that these lines can be seen. <i>As it is</i> "
    "is this machine's memory, nothing added; <i>all home</i> is with what was "
    "put off. A verdict is given only where rounds are no further apart than "
    "the way to the other verdict: else it is <i>disturbed</i>, and of fewer "
    f"than {marks.LEAST_ROUNDS} rounds <i>not judged</i>. What is <i>counted "
    "once</i> is not timed: it hangs on the clock of Archapt alone. What a "
    "mark <i>is known</i> not to be met by is of runs before.")
# Colours that can be read on white and on black.
STYLE = """<style>
ul.contents { columns: 3 22em; font-size: 13px; padding-left: 1.2em; }
ul.contents li { break-inside: avoid; }
.rounds { display: block; color: var(--faint); font-size: 11px; }
td.met { color: #2e9b57; } td.not-met { color: #d0402f; }
td.disturbed, td.not-judged, td.undefined, td.not-measured { color: #b07c00; }
</style>"""
# Longer cells are text.
WIDE = 26
# A median, and what its rounds were between.
WITH_ROUNDS = re.compile(r"([-\d.,]+) \(([-\d.,]+ to [-\d.,]+)\)")
VERDICT = "verdict"


def page(facts, warnings, tables, plots):
  """All of it.

  Args:
    facts: (name, value) of each.
    warnings: what has to be known first.
    tables: (title, table, what is said above it) of each.
    plots: (name, caption, svg, how the title of a table begins that it stands
        before) of each.
  """
  sections = with_plots(tables, plots)
  parts = [STYLE, f'<p class="note">{LEGEND}</p>',
           *(f'<p class="warning">{html.escape(text)}</p>'
             for text in warnings),
           contents(sections)]
  for name, title, body, _ in sections:
    parts += [f'<h2 id="{name}">{html.escape(title)}</h2>', body]
  return engine_report.page_of("Atomicity schemes", facts, parts)


def with_plots(tables, plots):
  """(name, title, body, what it is of) of each section: plots stand before
  their tables, or behind all."""
  sections, left = [], list(plots)
  def of_plot(plot):
    name, caption, svg, begin = plot
    return (f"plot-{name}", f"Plot: {caption}",
            f'<div class="scroll">{svg}</div>', subject(begin))
  for i, (title, table, said) in enumerate(tables):
    here = [plot for plot in left if title.startswith(plot[3])]
    left = [plot for plot in left if plot not in here]
    sections += [*map(of_plot, here), (f"section-{i}", title,
                                       note(said) + as_html(table),
                                       subject(title))]
  return sections + [*map(of_plot, left)]


def subject(title):
  """Without what tells tables of one figure apart."""
  begin, colon, end = title.partition(": ")
  return f"{begin}{colon}{end.split(', ')[0]}" if colon else (
      title.split(", ")[0])


def contents(sections):
  """Links to the first section of each figure; the others follow it."""
  of_subject = {}
  for name, title, _, of in sections:
    of_subject.setdefault(of, []).append((name, title))
  return '<ul class="contents">' + "".join(
      f'<li><a href="#{found[0][0]}">'
      f"{html.escape(of if len(found) > 1 else found[0][1])}</a></li>"
      for of, found in of_subject.items()) + "</ul>"


def note(text):
  return f'<p class="note">{html.escape(text)}</p>' if text else ""


def as_html(table):
  """Words wrap, figures do not; what rounds were between stands below."""
  heads, lines = table
  wide = [max((length(line[i]) for line in lines), default=0) > WIDE
          for i in range(len(heads))]
  def row(words, tag):
    cells = []
    for i, word in enumerate(words):
      classes = ["long"] if wide[i] else []
      if heads[i] == VERDICT and word != "-":
        classes.append(word.split(":")[0].replace(" ", "-"))
      named = f' class="{" ".join(classes)}"' if classes else ""
      cells.append(f"<{tag}{named}>{inner(word)}</{tag}>")
    return f"<tr>{''.join(cells)}</tr>"
  return ('<div class="scroll"><table class="words">' + row(heads, "th")
          + "".join(row(line, "td") for line in lines) + "</table></div>")


def length(word):
  """The length of text that may wrap."""
  return 0 if WITH_ROUNDS.fullmatch(word) else len(word)


def inner(word):
  found = WITH_ROUNDS.fullmatch(word)
  if not found:
    return html.escape(word)
  return f'{found[1]}<span class="rounds">{found[2]}</span>'
