"""bench-controller as a program: flags, exit codes, what it says, how long."""

import json
import os
import subprocess
import tempfile
import unittest

PROGRAM = os.path.join("lab", "controller", "bench_controller")


def run(*flags):
  return subprocess.run([PROGRAM, *flags], stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE, text=True, check=False)


class ProgramTest(unittest.TestCase):

  def setUp(self):
    temporary = tempfile.TemporaryDirectory()
    self.addCleanup(temporary.cleanup)
    self.folder = temporary.name

  def test_every_figure_is_reproducible(self):
    out = os.path.join(self.folder, "controller.json")
    first = run("--quick", "--json", f"--out={out}")
    self.assertEqual(first.returncode, 0, first.stderr)
    with open(out, encoding="utf-8") as file:
      self.assertEqual(file.read(), first.stdout)
    figures = json.loads(first.stdout)["figures"]
    self.assertEqual([figure["figure"] for figure in figures],
                     ["5", "7", "9", "10", "11", "12", "13", "forms"])
    marks = [(figure["figure"], mark) for figure in figures
             for mark in figure["marks"]]
    # One for each figure that the paper's text makes a claim of.
    self.assertEqual({name for name, _ in marks},
                     {"5", "7", "9", "10", "11", "12", "forms"})
    for name, mark in marks:
      if name == "forms":
        self.assertTrue(mark["holds"], mark)
    # A weak rival does not stand alone, nor does one claim for another.
    asked = [mark["name"] for name, mark in marks if name in ("9", "12")]
    for word, count in (("than non-atomic", 3), ("as cached", 3),
                        ("as by undo", 4), ("as by undo-grouped", 2)):
      self.assertEqual(len([what for what in asked if word in what]), count,
                       word)
    for figure in figures:
      for table in figure["tables"]:
        for row in table["rows"]:
          self.assertEqual(len(row), len(table["columns"]), table["title"])
    self.assertEqual(run("--quick", "--json").stdout, first.stdout)

  def test_flags_change_the_machine(self):
    def responses(*flags):
      done = run("--quick", "--json", "--only=5", *flags)
      self.assertEqual(done.returncode, 0, done.stderr)
      [table] = json.loads(done.stdout)["figures"][0]["tables"]
      return [row[1] for row in table["rows"]]

    ordinary = responses()
    self.assertEqual(responses("--path_ns=15", "--channel_queue=32"), ordinary)
    # There and back, once for a fence.
    for before, after in zip(ordinary, responses("--path_ns=115")):
      self.assertAlmostEqual(after - before, 0.2, delta=0.01)
    self.assertGreater(responses("--call_cycles=1000")[0], ordinary[0] + 0.7)

  def test_counts_match_figure_6(self):
    figures = json.loads(run("--quick", "--json", "--only=7").stdout)["figures"]
    [counts] = [table for table in figures[0]["tables"]
                if "counts" in table["title"]]
    rows = {row[0]: row[1:] for row in counts["rows"]}
    self.assertEqual(rows["non-atomic"], [2000, 0, 0, 100])
    self.assertEqual(rows["undo"], [2000, 2000, 0, 4000])
    self.assertEqual(rows["wrap"], [2000, 600, 600, 100])

  def test_figures_6_and_7_are_one(self):
    by_name = [run("--quick", "--json", f"--only={name}") for name in "67"]
    self.assertEqual(by_name[0].returncode, 0, by_name[0].stderr)
    self.assertEqual(by_name[0].stdout, by_name[1].stdout)

  def test_a_folder_for_traces_is_created(self):
    folder = os.path.join(self.folder, "of", "traces")
    done = run("--quick", "--only=13", f"--save_traces={folder}")
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertIn("avl.trace", os.listdir(folder))
    file = os.path.join(folder, "avl.trace")
    done = run("--quick", "--only=13", f"--save_traces={file}")
    self.assertEqual(done.returncode, 1)
    self.assertIn(file, done.stderr)
    # With --trace, the flags that choose and record figures are refused.
    for flag in ("--only=5", f"--save_traces={folder}"):
      done = run("--quick", f"--trace={file}", flag)
      self.assertEqual(done.returncode, 2)
      self.assertIn("--trace", done.stderr)
    done = run("--quick", f"--trace={file}")
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertNotIn("e-0", done.stdout)

  def test_an_unwritable_output_is_refused_first(self):
    done = run("--out=/nowhere/at/all")
    self.assertEqual(done.returncode, 1)
    self.assertIn("/nowhere/at/all: No such file", done.stderr)
    self.assertNotIn("figure", done.stderr)

  def test_traces_are_saved_and_run(self):
    done = run("--quick", "--only=13", f"--save_traces={self.folder}")
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertEqual(sorted(os.listdir(self.folder)),
                     ["avl.trace", "b+tree.trace", "hash.trace"])
    path = os.path.join(self.folder, "avl.trace")
    done = run("--json", f"--trace={path}")
    self.assertEqual(done.returncode, 0, done.stderr)
    [figure] = json.loads(done.stdout)["figures"]
    [table] = figure["tables"]
    column = {name: i for i, name in enumerate(table["columns"])}
    self.assertEqual([row[0] for row in table["rows"]],
                     ["1x", "2x", "4x", "8x"])
    for row in table["rows"]:
      self.assertGreater(row[column["undo"]], row[column["wrap"]])
      self.assertGreater(row[column["wrap"]], row[column["cached"]])

  def test_traces_do_not_depend_on_the_store(self):
    kept = {}
    for store in ("wrap", "unsafe", "undo-own"):
      folder = os.path.join(self.folder, store)
      os.mkdir(folder)
      done = run("--quick", "--only=13", f"--store={store}",
                 f"--save_traces={folder}")
      self.assertEqual(done.returncode, 0, done.stderr)
      with open(os.path.join(folder, "hash.trace"), encoding="utf-8") as file:
        kept[store] = file.read()
    self.assertEqual(kept["wrap"], kept["unsafe"])
    self.assertEqual(kept["wrap"], kept["undo-own"])

  def test_bad_files_and_flags_are_rejected(self):
    bad = os.path.join(self.folder, "bad.trace")
    with open(bad, "w", encoding="utf-8") as file:
      file.write("kamino-memory-trace 1\nthread\nclose\n")
    for flags, code, word in (
        (["--only=8"], 2, "8"),
        (["--store=nobody"], 2, "nobody"),
        (["--no_such_flag"], 2, "no_such_flag"),
        (["--channel_queue=0"], 2, "--channel_queue"),
        (["--path_ns=1001"], 2, "--path_ns"),
        ([f"--trace={bad}"], 1, "closes a wrap that is not open"),
        (["--trace=/nowhere/at/all"], 1, "/nowhere/at/all"),
        (["--quick", "--folder=/nowhere/at/all"], 1, "/nowhere/at/all"),
        (["--quick", "--only=13", f"--save_traces={bad}/at/all"], 1,
         f"cannot make {bad}/at/all")):
      done = run(*flags)
      self.assertEqual(done.returncode, code, flags)
      self.assertIn(word, done.stderr)
      self.assertEqual(done.stdout, "")

  def test_help_and_text(self):
    done = run("--help")
    self.assertEqual(done.returncode, 0)
    self.assertIn("--save_traces", done.stdout)
    done = run("--quick", "--only=5,forms")
    self.assertIn("Figure 5", done.stdout)
    self.assertIn("here:", done.stdout)
    self.assertNotIn("Figure 7", done.stdout)


if __name__ == "__main__":
  unittest.main()
