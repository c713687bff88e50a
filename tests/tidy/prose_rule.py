"""Idioms that the project's prose does not use (CONTRIBUTING.md, Words).

The rule counts them in comments, texts, documents and scripts (has_prose).
ALLOWED_FILE lists the folders whose files still have some, with the number of
lines: no folder gets more. Run this file to write the list anew after lines
were fixed.
"""

import collections
import os
import re
import subprocess

ALLOWED_FILE = "tests/tidy/prose_allowed.txt"
SUFFIXES = (".cc", ".h", ".md", ".proto", ".py", ".sh", ".bzl", ".txt", ".yaml",
            ".service", "BUILD", "Makefile")
# A node, a client, a manager or an operator acts, not an indefinite person.
PERSONS = re.compile(
    r"\b(?:whoever|somebody|nobody|anybody|everybody)\b|"
    r"\b(?:those|one|all|he|any) who\b|\b(?:of|from|for|by|to|with) whom\b|"
    r"\bwho (?:comes?|asks?|stands? by|sends?|answers?|leads?|returns?|is|has|"
    r"may|was)\b", re.IGNORECASE)
# "what is no message": an undecodable message.
RIDDLES = re.compile(
    r"\bwhat is no\b|\bwhat has (?:come|gone|ended)\b|\bin vain\b|"
    r"\bhas no use for\b|\bso long as\b(?= it is none)", re.IGNORECASE)
# A comment or heading that begins with a label in place of a sentence.
LABEL = re.compile(r"\s*(?:///?|#+) (?:Of|What|Who|Whose|Whom)\b(?![^.:]*\?)")
COMMENT = re.compile(r"\s*(?://|#)")


def has_prose(name, path):
  """Whether the rule covers a file: by its name, or as a script."""
  if name.endswith(SUFFIXES):
    return True
  with open(path, "rb") as f:
    return f.read(2) == b"#!"


def idioms(text):
  """(number of the line, line) of each line that has one."""
  found = []
  fenced = False
  before = ""
  for i, line in enumerate(text.split("\n"), 1):
    if line.lstrip().startswith("```"):
      fenced = not fenced
    begins = not COMMENT.match(before) or line.startswith("#")
    if not fenced and (PERSONS.search(line) or RIDDLES.search(line) or
                       (begins and LABEL.match(line))):
      found.append((i, line.strip()))
    before = line
  return found


def allowed(text):
  """Folder to the number of lines that its files may have."""
  words = [line.split() for line in text.split("\n") if line.strip() and
           not line.startswith("#")]
  return {folder: int(number) for folder, number in words}


def by_folder(found):
  """`found`: file to idioms(). Folder to the number of lines."""
  counts = collections.Counter()
  for name, hits in found.items():
    counts[os.path.dirname(name) or "."] += len(hits)
  return counts


def problems(found, most):
  """`found`: file to idioms(); `most`: allowed()."""
  counts = by_folder(found)
  told = []
  for folder in sorted(set(counts) | set(most)):
    count, limit = counts[folder], most.get(folder, 0)
    if count < limit:
      told.append(f"{ALLOWED_FILE}: {folder} may have {limit} lines, and has "
                  f"{count}: write the list anew by tests/tidy/prose_rule.py")
    if count <= limit:
      continue
    told += [f"{name}:{i}: {line}" for name, hits in sorted(found.items())
             if (os.path.dirname(name) or ".") == folder for i, line in hits]
    told.append(f"{folder}: {count} lines use idioms of tests/tidy/"
                f"prose_rule.py, and {limit} may; name the node, client, "
                "manager or operator that acts")
  return told


def idioms_of_tree(files):
  """`files`: (name, path) of each. File to idioms()."""
  found = {}
  for name, path in files:
    if name.startswith("tests/tidy/") or not has_prose(name, path):
      continue
    with open(path, encoding="utf-8") as f:
      hits = idioms(f.read())
    if hits:
      found[name] = hits
  return found


def main():
  root = os.path.dirname(os.path.dirname(os.path.dirname(
      os.path.realpath(__file__))))
  names = subprocess.run(
      ["git", "-C", root, "ls-files"], stdout=subprocess.PIPE, text=True,
      check=True).stdout.split("\n")
  counts = by_folder(idioms_of_tree(
      (name, os.path.join(root, name)) for name in names
      if name and not name.startswith(".")))
  with open(os.path.join(root, ALLOWED_FILE), "w", encoding="utf-8") as f:
    f.write("# Folder, and how many lines of its files may use idioms of\n"
            "# prose_rule.py: those of before the rule.\n")
    f.writelines(f"{folder} {count}\n"
                 for folder, count in sorted(counts.items()))


if __name__ == "__main__":
  main()
