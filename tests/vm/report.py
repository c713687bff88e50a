"""The record of a run of the rig: parts, their time, their outcome."""

import sys
import time

from machine import VmError


class Report:
  """Runs parts one after the other and prints a table at the end."""

  def __init__(self):
    self._rows = []
    self.failed = 0

  def part(self, name, action):
    """Runs action(), which returns a line of facts; whether it succeeded."""
    began = time.monotonic()
    print(f"{name} ...", flush=True)
    try:
      facts, good = action() or "", True
    except VmError as error:
      print(f"FAILED: {name}: {error}", file=sys.stderr, flush=True)
      facts, good = str(error).splitlines()[0], False
    self._rows.append((name, "ok" if good else "FAILED",
                       f"{time.monotonic() - began:.1f}", facts))
    self.failed += not good
    return good

  def left_out(self, name, why):
    self._rows.append((name, "not run", "", why))

  def table(self):
    rows = [("PART", "RESULT", "SECONDS", "FACTS"), *self._rows]
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    return "\n".join(
        f"{a:{widths[0]}}  {b:{widths[1]}}  {c:>{widths[2]}}  {d}".rstrip()
        for a, b, c, d in rows)
