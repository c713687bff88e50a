"""How large classes, functions and constructors may be (CONTRIBUTING.md).

Counts come from Universal Ctags. ALLOWED_FILE lists the places above a limit,
with their size: no place grows, and there are no new ones. Run this file to
write the list anew after places were made smaller.
"""

import json
import os
import subprocess

ALLOWED_FILE = "tests/tidy/size_allowed.txt"
# The methods of a class (without constructors, destructor and operators), its
# fields, the lines of a function, and the parameters of a constructor.
LIMITS = {"methods": 25, "fields": 15, "lines": 70, "parameters": 5}
OPENING, CLOSING = "<({[", ">)}]"
# Annotations that ctags would take for the name of the field or function.
MACROS = ("ABSL_ASSERT_EXCLUSIVE_LOCK", "ABSL_EXCLUSIVE_LOCKS_REQUIRED",
          "ABSL_EXCLUSIVE_LOCK_FUNCTION", "ABSL_GUARDED_BY",
          "ABSL_LOCKS_EXCLUDED", "ABSL_PT_GUARDED_BY",
          "ABSL_SHARED_LOCKS_REQUIRED", "ABSL_UNLOCK_FUNCTION")


class CannotCount(Exception):
  """ctags is missing or failed."""


def parameters(signature):
  """How many parameters "(int a, std::map<int, int> b)" has."""
  inner = signature.strip()[1:-1]
  count, depth = (1 if inner.strip() else 0), 0
  for letter in inner:
    depth += (letter in OPENING) - (letter in CLOSING)
    count += letter == "," and depth == 0
  return count


def tags_of(root, names):
  """What ctags finds in files of the tree: dictionaries."""
  command = ["ctags", *(f"-D{macro}(x)=" for macro in MACROS),
             "--languages=C++", "--kinds-C++=csfpm",
             "--fields=+neKSs", "--output-format=json", "-f", "-", "-L", "-"]
  try:
    done = subprocess.run(command, input="\n".join(names), cwd=root, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False)
  except OSError as error:
    raise CannotCount("universal-ctags is missing; run "
                      "deploy/install-packages") from error
  if done.returncode != 0:
    raise CannotCount(f"ctags: {done.stderr.strip()}")
  return [json.loads(line) for line in done.stdout.splitlines()]


def sizes(tags):
  """(file, place, measure) to size, of all places in the tags."""
  methods, found = {}, {}
  for tag in tags:
    path, name, kind = tag["path"], tag["name"], tag.get("kind")
    scope = tag.get("scope", "").split("::")[-1]
    in_class = tag.get("scopeKind") == "class"
    callable_ = kind in ("prototype", "function")
    constructs = in_class and name == scope
    if callable_ and constructs:
      place = path, scope, "parameters"
      count = parameters(tag.get("signature", "()"))
      found[place] = max(count, found.get(place, 0))
    elif callable_ and in_class and path.endswith(".h") and not (
        name.startswith(("~", "operator"))):
      methods.setdefault((path, scope, "methods"), set()).add(
          name + tag.get("signature", ""))
    elif kind == "member" and in_class and (
        "constexpr" not in tag.get("pattern", "")):
      place = path, scope, "fields"
      found[place] = found.get(place, 0) + 1
    if kind == "function" and "end" in tag:
      place = path, f"{scope}::{name}" if scope else name, "lines"
      length = tag["end"] - tag["line"] + 1
      found[place] = max(length, found.get(place, 0))
  found.update((place, len(names)) for place, names in methods.items())
  return found


def above(found):
  return {place: size for place, size in found.items()
          if size > LIMITS[place[2]]}


def allowed(text):
  """(file, place, measure) to size."""
  places = {}
  for line in text.split("\n"):
    if line and not line.startswith("#"):
      path, name, measure, size = line.split()
      places[path, name, measure] = int(size)
  return places


def problems(found, permitted):
  """`found`: sizes(); `permitted`: allowed()."""
  told = []
  large = above(found)
  for (path, name, measure), size in sorted(large.items()):
    most = permitted.get((path, name, measure), LIMITS[measure])
    if size > most:
      told.append(f"{path}: {name} has {size} {measure}, and may have {most}")
  for (path, name, measure), size in sorted(permitted.items()):
    if large.get((path, name, measure), 0) < size:
      told.append(f"{ALLOWED_FILE}: {path} {name} has fewer than {size} "
                  f"{measure}: write the list anew by tests/tidy/size_rule.py")
  return told


def is_measured(name):
  return name.endswith((".cc", ".h")) and not name.startswith(
      ("tests/", "third_party/"))


def main():
  root = os.path.dirname(os.path.dirname(os.path.dirname(
      os.path.realpath(__file__))))
  names = subprocess.run(
      ["git", "-C", root, "ls-files"], stdout=subprocess.PIPE, text=True,
      check=True).stdout.split("\n")
  large = above(sizes(tags_of(root, filter(is_measured, names))))
  with open(os.path.join(root, ALLOWED_FILE), "w", encoding="utf-8") as f:
    f.write("# File, class or function, measure and size: what is above the "
            "limits of\n# size_rule.py since before the rule.\n")
    f.writelines(f"{path} {name} {measure} {size}\n"
                 for (path, name, measure), size in sorted(large.items()))


if __name__ == "__main__":
  main()
