#!/usr/bin/env python3
"""Puts the tables of a run into the pages that have places for them.

    paste_tables.py schemes.json PAGE...

changes the pages: docs/use/schemes.md and lab/docs/schemes.md
(doc_tables.py describes their marks). Exits with 0, with 1 if a file cannot be
read or written or has a mark without a table, with 2 for wrong arguments.
"""

import json
import sys

# pylint: disable=unused-import
import schemes_view  # adds the folder of the reports of benches
import doc_tables
import judge


def main(words):
  if len(words) < 2:
    print("usage: paste_tables.py schemes.json PAGE...", file=sys.stderr)
    return 2
  try:
    with open(words[0], encoding="utf-8") as file:
      results = json.load(file)
    judge.judge(results)
    for page in words[1:]:
      with open(page, encoding="utf-8") as file:
        pasted = doc_tables.paste(file.read(), results)
      with open(page, "w", encoding="utf-8") as file:
        file.write(pasted)
  except (OSError, ValueError, KeyError) as error:
    print(f"paste_tables.py: {error!r}", file=sys.stderr)
    return 1
  return 0


if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
