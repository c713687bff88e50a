"""bench-schemes as programs: what they write, what they refuse, and that a
process that was killed leaves something to recover."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.realpath(__file__)))))
PROGRAM = os.path.join("lab", "schemes", "bench_schemes")
SHIM = os.path.join("bench", "pmem_shim", "libpmem_shim.so")
ALL = "undo-own,rewind-1-noforce-batch,wrap,archapt"
SCRIPT = os.path.join("lab", "schemes", "schemes.py")


def run(*words, preload=False):
  environment = dict(os.environ)
  if preload:
    environment["LD_PRELOAD"] = os.path.abspath(SHIM)
  return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                        text=True, check=False, env=environment)


class SchemesTest(unittest.TestCase):

  def setUp(self):
    temporary = tempfile.TemporaryDirectory()
    self.addCleanup(temporary.cleanup)
    self.folder = temporary.name

  def points(self, *flags, preload=False):
    done = run(PROGRAM, "--quick", "--rounds=1", "--json",
               f"--folder={self.folder}", *flags, preload=preload)
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertEqual(os.listdir(self.folder), [])
    return json.loads(done.stdout)["points"]

  def test_a_killed_process_leaves_something_to_recover(self):
    found = {(p["figure"][9:], p["series"], p["measure"]): p["value"]
             for p in self.points(
                 "--only=^recovery$",
                 "--schemes=undo-own,undo-object,rewind-1-noforce-batch,"
                 "kamino-simple,wrap,archapt,unsafe")}
    rewind = "rewind-1-noforce-batch"
    for store in ("undo-own", rewind, "archapt"):
      self.assertEqual(found["open", store, "rolled back"], 1, store)
    # WrAP keeps open transactions in DRAM.
    self.assertEqual(found["open", "wrap", "rolled back"], 0)
    log = 6 << 20
    for store in ("undo-own", "undo-object", rewind, "wrap", "kamino-simple",
                  "archapt"):
      # As much as the log has room for.
      self.assertGreater(found["open", store, "bytes open"], log / 4, store)
      self.assertEqual(found["committed", store, "lost"], 0, store)
    # Their logs are full: with more they would have made room.
    for store in (rewind, "wrap"):
      self.assertEqual(found["committed", store, "replayed"],
                       found["committed", store, "transactions committed"],
                       store)
    # A bucket of 4 KiB each; records of 3 KiB of old bytes, and of new ones.
    self.assertGreater(found["committed", "wrap", "replayed"] * 4096, log * 0.9)
    self.assertGreater(found["committed", rewind, "replayed"] * 6144, log * 0.8)
    # The oldest have left the queue, the others are rolled back.
    back = found["committed", "archapt", "rolled back"]
    self.assertGreater(back, 0)
    self.assertLess(back, found["committed", "archapt",
                                "transactions committed"])
    # It has nothing to recover by.
    self.assertNotIn(("open", "unsafe", "rolled back"), found)

  def test_data_takes_memory(self):
    found = {(p["series"], p["measure"]): p["value"]
             for p in self.points(
                 "--only=^data$", "--schemes=undo-own,wrap,kamino-simple,"
                 "archapt,unsafe,cached")}
    data = 64 << 20
    persistent, dram = "bytes of persistent memory", "bytes of DRAM"
    self.assertGreater(found["unsafe", persistent], data)
    self.assertLess(found["unsafe", persistent], 1.1 * data)
    self.assertGreater(found["kamino-simple", persistent], 2 * data)
    self.assertLess(found["undo-own", dram], data / 4)
    # Each object is written, and has a seventh of itself in sums once it has
    # left the queue, of 19.25 MiB. Of its file of 123 MiB a quarter is log.
    left = data - (19712 << 10)
    sums = found["archapt", persistent] - found["unsafe", persistent] - 32.1e6
    self.assertGreater(sums, 0.1 * left)
    self.assertLess(sums, 0.2 * left)
    # Recovery verifies the sums.
    opens = "ns to open"
    self.assertGreater(found["archapt", opens + " after the crash"],
                       found["archapt", opens])
    # Its view is the heap's size.
    self.assertGreater(found["wrap", dram], data)
    self.assertNotIn(("cached", dram), found)

  def test_libpmemobj_is_watched_only_through_the_preloaded_library(self):
    only = "--only=^archapt-1-2$"
    watched = self.points(only, "--schemes=undo-object", preload=True)
    self.assertEqual({p["series"] for p in watched},
                     {"undo-object", "undo-object, nothing flushed", "cached"})
    self.assertEqual({p["memory"] for p in watched},
                     {"as it is, libpmem watched"})
    without = self.points(only, "--schemes=undo-object")
    self.assertNotIn("undo-object, nothing flushed",
                     {p["series"] for p in without})
    self.assertIn("undo-object", {p["series"] for p in without})
    self.assertEqual({p["memory"] for p in without}, {"as it is"})

  def test_only_libpmemobj_figures_run_with_the_preloaded_library(self):
    done = run(PROGRAM, "--list", f"--schemes={ALL}", preload=True)
    self.assertEqual(done.returncode, 0)
    self.assertEqual([line.split(":")[0] for line in done.stdout.splitlines()],
                     ["rewind-7", "archapt-1-2", "archapt-9"])
    done = run(PROGRAM, "--only=^wrap-6$", "--schemes=wrap", preload=True)
    self.assertEqual(done.returncode, 2)
    self.assertIn("watched", done.stderr)

  def test_unknown_names_and_folders_are_refused(self):
    for flags, word in ((["--schemes=nobody"], "nobody"),
                        (["--schemes=undo-own,unsafe+scans"], "scans"),
                        (["--only=("], "--only"),
                        (["--only=no such part"], "nothing to measure"),
                        (["--crash=word"], "word"),
                        (["--schemes=rewind-1-noforce-batch+group=0"], "group"),
                        (["--only=^wrap-6$", "--schemes=undo-own"],
                         "nothing to measure"),
                        (["--rounds=0"], "--rounds")):
      done = run(PROGRAM, *flags)
      self.assertEqual(done.returncode, 2, flags)
      self.assertIn(word, done.stderr)
      self.assertEqual(done.stdout, "")
    for flag in ("--folder=/nowhere/at/all", "--out=/nowhere/at/all"):
      done = run(PROGRAM, "--only=recovery", flag)
      self.assertEqual(done.returncode, 1)
      self.assertIn("/nowhere/at/all", done.stderr)
      self.assertNotIn("recovery: ", done.stderr)

  def test_parts_of_unselected_schemes_are_left_out(self):
    def listed(schemes):
      done = run(PROGRAM, "--list", f"--schemes={schemes}")
      self.assertEqual(done.returncode, 0, done.stderr)
      return {line.split(":")[0] for line in done.stdout.splitlines()}
    of_all = {"archapt-1-2", "archapt-3", "durable", "recovery", "data"}
    self.assertEqual(listed("undo-own,unsafe"), of_all)
    self.assertEqual(listed("wrap+alone") - of_all,
                     {"wrap-6", "wrap-7", "wrap-8", "wrap-13-14"})
    self.assertIn("rewind-10", listed("rewind-2-force-simple"))

  def test_rounds_are_written_in_their_order(self):
    done = run(PROGRAM, "--quick", "--rounds=3", "--json", "--only=^durable$",
               "--schemes=unsafe", f"--folder={self.folder}")
    self.assertEqual(done.returncode, 0, done.stderr)
    for point in json.loads(done.stdout)["points"]:
      if point["memory"] == "by count":
        continue
      self.assertEqual(len(point["rounds"]), 3)
      self.assertEqual(point["value"], sorted(point["rounds"])[1])
      self.assertEqual(point["low"], min(point["rounds"]))

  def test_list(self):
    done = run(PROGRAM, "--list")
    self.assertEqual(done.returncode, 0)
    for name in ("rewind-3-left", "wrap-6", "archapt-7", "archapt-9",
                 "recovery", "data"):
      self.assertIn(f"{name}: ", done.stdout)

  def test_a_run_combines_all_parts(self):
    pages = os.path.join(self.folder, "pages")
    out = os.path.join(pages, "partial", "schemes.json")
    pools = os.path.join(self.folder, "pools")
    os.mkdir(pages)
    os.mkdir(pools)
    done = run(sys.executable, "-B", SCRIPT, "--quick", "--rounds=1",
               "--part_rounds=1", "--drains=0", "--only=^(wrap-6|durable)$",
               "--schemes=undo-own,undo-object,unsafe,wrap",
               f"--folder={pools}", f"--pages={pages}")
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertIn("Which scheme when: speed", done.stdout)
    self.assertIn(out, done.stdout)
    self.assertEqual(os.listdir(pages), ["partial"])
    self.assertEqual(os.listdir(pools), [])
    with open(out, encoding="utf-8") as file:
      results = json.load(file)
    rows = {(r["scheme"], r["workload"], r["value_size"]): r
            for r in results["engine"]}
    self.assertIn(("undo-own", "tpcc-mix", 0), rows)
    self.assertGreater(
        rows["undo-object", "overwrite-bytes", 1024]["lines_flushed_per_tx"],
        16)
    met = {m["name"]: m["holds"] for m in results["marks"]}
    self.assertIs(met["WrAP fig. 6: drains, unsafe"], True)
    self.assertIs(met["WrAP fig. 6: drains of 100 wraps, wrap"], True)
    # Figures that were not asked for have no marks.
    self.assertFalse([name for name in met if name.startswith("REWIND")])
    self.assertGreater(results["marks_left_out"], 50)
    self.assertTrue(results["facts"]["date"].endswith("UTC"))
    self.assertIs(met["Archapt table 4: of these found, %"], True)
    with open(os.path.join(pages, "partial", "schemes.md"),
              encoding="utf-8") as page:
      self.assertIn("Crashes through a cache model", page.read())
    self.assertEqual(len(results["loads"]), 5)

  def test_the_timing_model_is_a_separate_part(self):
    done = run(sys.executable, "-B", SCRIPT, "--quick", "--parts=model",
               f"--folder={self.folder}", f"--pages={self.folder}")
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertIn("WrAP's timing model: of this run", done.stdout)
    partial = os.path.join(self.folder, "partial")
    self.assertEqual(os.listdir(self.folder), ["partial"])
    with open(os.path.join(partial, "schemes.json"), encoding="utf-8") as file:
      results = json.load(file)
    self.assertEqual([load["run"] for load in results["loads"]],
                     ["bench_controller, WrAP's timing model"])
    self.assertEqual(results["wrap_model"]["facts"]["scale"], "quick")
    # Each figure that has marks has a verdict for each.
    verdicts = {m["name"]: m["holds"] for m in results["marks"]}
    self.assertEqual(len(verdicts), 26)
    self.assertTrue(all(isinstance(v, bool) for v in verdicts.values()))
    self.assertIs(verdicts["WrAP's timing model, fig. 7: WrAP is faster than "
                           "non-atomic, SCM 2x slower"], True)
    self.assertNotIn("not of this run", done.stdout)
    # Why others are not met is known.
    self.assertEqual([m["name"] for m in results["marks"]
                      if bool(m["reason"]) is m["holds"]], [])

  def test_a_model_that_cannot_run_says_why(self):
    done = run(sys.executable, "-B", SCRIPT, "--quick", "--parts=model",
               "--folder=/proc")
    self.assertEqual(done.returncode, 1)
    self.assertIn("/proc", done.stderr)

  def test_an_unknown_store_ends_the_run(self):
    done = run(sys.executable, "-B", SCRIPT, "--quick", "--schemes=nobody",
               "--parts=figures", f"--folder={self.folder}")
    self.assertEqual(done.returncode, 1)
    self.assertIn("nobody", done.stderr)


  def test_an_interrupted_run_exits_with_130_and_leaves_no_pool(self):
    words = [sys.executable, "-B", SCRIPT, "--quick", "--parts=figures",
             "--only=^durable$", f"--folder={self.folder}"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True,
                          stdout=subprocess.DEVNULL,
                          start_new_session=True) as running:
      # Its own, and then the program's first line: that is under way.
      for line in running.stderr:
        if "durable: " in line:
          break
      # All of a terminal's programs get it.
      os.killpg(running.pid, signal.SIGINT)
      said = running.stderr.read()
    self.assertEqual(running.returncode, 130, said)
    self.assertNotIn("ended with", said)
    self.assertNotIn("Traceback", said)
    self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
  unittest.main()
