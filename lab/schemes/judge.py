"""The papers' marks of what a run has measured, with their verdicts.

All of it follows from measurements: pages that are made of results of before
have the marks, and the words, of today.
"""

import marks
import rewind_marks
import rivals_marks


def judge(results):
  """Puts `marks`, and the number of marks left out, into the results."""
  points, engine = results["points"], results["engine"]
  crash_model = results["crash_model"]

  def all_of(some, rows):
    return [*rewind_marks.of(some), *rivals_marks.of(some, rows, crash_model)]

  def of_turn(turn):
    return all_of(marks.Points(points, turn), [
        {**row, "ops_per_s": row["rounds"][turn]} for row in engine
        if turn < len(row.get("rounds", ()))])

  # Points by count have no rounds, so every turn has them.
  turns = max(marks.Points.turns(points), marks.LEAST_ROUNDS)
  found = marks.settle(
      all_of(marks.Points(points), engine),
      [of_turn(turn) for turn in range(turns)],
      all_of(marks.Points([p for p in points
                           if p["memory"] == marks.COUNTED]), ()))
  found += rivals_marks.of_model(results["wrap_model"])
  results["marks_left_out"] = 0
  # A whole run says what it should have measured.
  if (results.get("part_of_a_run")
      or results["facts"].get("scale") == "quick"):
    measured = [one for one in found if one["here"] is not None]
    results["marks_left_out"] = len(found) - len(measured)
    found = measured
  results["marks"] = found
