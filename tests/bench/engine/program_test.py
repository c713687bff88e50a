"""bench-engine as a program: flags, exit codes, what it leaves behind."""

import json
import os
import signal
import subprocess
import tempfile
import unittest

PROGRAM = os.path.join("bench", "engine", "bench_engine")
SHIM = os.path.join("bench", "pmem_shim", "libpmem_shim.so")
SMALL = ["--quick", "--only=^micro/empty", "--schemes=kamino-simple,unsafe"]


def run(*flags, preload=None):
  environment = dict(os.environ)
  if preload is not None:
    environment["LD_PRELOAD"] = os.path.abspath(preload)
  return subprocess.run([PROGRAM, *flags], stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE, text=True, check=False,
                        env=environment)


class ProgramTest(unittest.TestCase):

  def setUp(self):
    temporary = tempfile.TemporaryDirectory()
    self.addCleanup(temporary.cleanup)
    self.folder = temporary.name

  def test_writes_rows_and_leaves_no_pool(self):
    out = os.path.join(self.folder, "engine.json")
    pools = os.path.join(self.folder, "pools")
    os.mkdir(pools)
    done = run(*SMALL, f"--folder={pools}", f"--out={out}", "--json")
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertEqual(os.listdir(pools), [])
    with open(out, encoding="utf-8") as file:
      text = file.read()
    self.assertEqual(done.stdout, text)
    rows = json.loads(text)["measurements"]
    self.assertEqual([row["scheme"] for row in rows],
                     ["kamino-simple", "unsafe"])
    for field in ("workload", "distribution", "threads", "value_size",
                  "ops_per_s", "p50_ns", "p99_ns", "fences_per_tx",
                  "lines_flushed_per_tx", "bytes_storage"):
      self.assertIn(field, rows[0])
    self.assertGreater(rows[0]["bytes_log"], 0)
    self.assertLess(rows[0]["bytes_log"], rows[0]["bytes_storage"])
    self.assertIsNone(rows[1]["bytes_log"])

  def test_timed_only_runs_are_not_counted(self):
    done = run(*SMALL, f"--folder={self.folder}", "--json", "--timed_only")
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertNotIn("counting", done.stderr)
    for row in json.loads(done.stdout)["measurements"]:
      self.assertIsNone(row["fences_per_tx"])
      self.assertGreater(row["ops_per_s"], 0)

  def test_background_flushes_are_counted_apart(self):
    done = run("--quick", "--json", "--rounds=1", f"--folder={self.folder}",
               "--schemes=archapt,wrap,unsafe",
               "--only=^micro/overwrite-bytes/hot/1/1024$")
    self.assertEqual(done.returncode, 0, done.stderr)
    rows = {row["scheme"]: row
            for row in json.loads(done.stdout)["measurements"]}
    beside = "background_lines_flushed_per_tx"
    self.assertEqual(rows["unsafe"][beside], 0)
    # Archapt flushes objects late, WrAP copies the data of each wrap. How much
    # their threads do during the turn depends on the scheduler.
    for scheme in ("archapt", "wrap"):
      self.assertGreater(rows[scheme][beside], 0, scheme)
      self.assertLess(rows[scheme][beside],
                      rows[scheme]["lines_flushed_per_tx"] - 10, scheme)

  def rows_of_libpmemobj(self, *flags):
    done = run("--quick", "--schemes=undo-object", "--json", "--rounds=1",
               f"--folder={self.folder}", *flags, preload=SHIM)
    self.assertEqual(done.returncode, 0, done.stderr)
    return {(row["workload"], row["value_size"], row["drain_ns"]): row
            for row in json.loads(done.stdout)["measurements"]}

  def test_libpmemobj_is_counted_by_the_preloaded_library(self):
    rows = self.rows_of_libpmemobj(
        "--only=^micro/(empty|overwrite-bytes/hot/1/(64|1024)$)")
    self.assertEqual(rows["empty", 0, 0]["fences_per_tx"], 0)
    small, large = (rows["overwrite-bytes", size, 0] for size in (64, 1024))
    # Old and new bytes, with what the log has around the old ones.
    self.assertGreaterEqual(small["lines_flushed_per_tx"], 2)
    self.assertLess(small["lines_flushed_per_tx"], 16)
    self.assertGreaterEqual(large["lines_flushed_per_tx"], 32)
    self.assertLess(large["lines_flushed_per_tx"], 64)
    for row in (small, large):
      self.assertGreaterEqual(row["fences_per_tx"], 2)
      self.assertLess(row["fences_per_tx"], 12)
      self.assertEqual(row["background_fences_per_tx"], 0)

  def test_a_repeated_delay_is_refused(self):
    done = run("--quick", "--only=^micro/empty",
               "--pmem_delay_drain_ns=0,500,0")
    self.assertEqual(done.returncode, 2)
    self.assertIn("has 0 twice", done.stderr)

  def test_libpmemobj_is_slowed_by_the_preloaded_library(self):
    for delays in ("20000", "0,20000"):
      rows = self.rows_of_libpmemobj("--only=^micro/overwrite-bytes/hot/1/64$",
                                     f"--pmem_delay_drain_ns={delays}")
      slow = rows["overwrite-bytes", 64, 20000]
      self.assertGreater(slow["p50_ns"], 20000 * (slow["fences_per_tx"] - 1))
      if len(rows) > 1:
        self.assertLess(rows["overwrite-bytes", 64, 0]["p50_ns"],
                        slow["p50_ns"])

  def test_the_breakdown_adds_up_to_the_total(self):
    done = run("--quick", "--only=^breakdown/patch16-bytes",
               "--schemes=kamino-simple", "--json",
               f"--folder={self.folder}")
    self.assertEqual(done.returncode, 0, done.stderr)
    results = json.loads(done.stdout)
    self.assertEqual(results["measurements"], [])
    [row] = results["breakdown"]
    self.assertEqual(row["workload"], "patch16-bytes")
    self.assertAlmostEqual(sum(row["parts_ns"].values()), row["total_ns"],
                           delta=1)
    self.assertGreater(row["parts_ns"]["index, look-up"], 0)

  def test_a_signal_leaves_no_pool(self):
    with subprocess.Popen(
        [PROGRAM, "--quick", "--only=^micro", f"--folder={self.folder}"],
        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as bench:
      self.assertIn("filling", bench.stderr.readline())
      bench.send_signal(signal.SIGINT)
      bench.stderr.read()
      self.assertEqual(bench.wait(), 128 + signal.SIGINT)
    self.assertEqual(os.listdir(self.folder), [])

  def test_bad_flags_are_rejected(self):
    for flags, word in ((["--only=("], "--only"),
                        (["--schemes=nobody"], "nobody"),
                        (["--rounds=-1"], "--rounds"),
                        (["word"], "word"),
                        (["--pmem_delay_line_ns=100001"],
                         "--pmem_delay_line_ns"),
                        # libpmemobj's memory cannot be slowed.
                        (["--quick", "--schemes=undo-object",
                          "--pmem_delay_drain_ns=5"], "nothing to measure"),
                        (["--quick", "--only=nothing"], "nothing to measure")):
      done = run(*flags)
      self.assertEqual(done.returncode, 2, flags)
      self.assertIn(word, done.stderr)
      self.assertEqual(done.stdout, "")
    done = run("--no_such_flag")
    self.assertEqual(done.returncode, 2)
    self.assertIn("no_such_flag", done.stderr)

  def test_a_missing_folder_is_an_error(self):
    done = run(*SMALL, "--folder=/nowhere/at/all")
    self.assertEqual(done.returncode, 1)
    self.assertIn("/nowhere/at/all", done.stderr)

  def test_help_and_list(self):
    done = run("--help")
    self.assertEqual(done.returncode, 0)
    self.assertIn("--only", done.stdout)
    names = run("--list").stdout.split("\n")
    for name in ("micro/overwrite-bytes/hot/1/64", "ycsb/ycsb-f/zipfian/2/1000",
                 "tpcc/tpcc-mix/nurand/1/0", "alpha/ycsb-a/zipfian/2/1000",
                 "breakdown/overwrite-bytes/hot/1/64"):
      self.assertIn(name, names)


if __name__ == "__main__":
  unittest.main()
