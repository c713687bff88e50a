"""The chains' bench: its words, and a race of real chains, which is short."""

import argparse
import contextlib
import glob
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.realpath(__file__)))))
PROGRAM = os.path.join(ROOT, "bench", "chain", "chain.py")
sys.path.insert(0, os.path.dirname(PROGRAM))
# pylint: disable=wrong-import-position
import chain
import chains
from rig import SHARED_MEMORY


def run(*words):
  return subprocess.run(
      [sys.executable, "-B", PROGRAM, *words], stdout=subprocess.PIPE,
      stderr=subprocess.PIPE, text=True, check=False)


class WordsTest(unittest.TestCase):

  def test_help(self):
    done = run("--help")
    self.assertEqual(done.returncode, 0)
    for flag in ("--subjects", "--failures", "--delays", "--prices",
                 "--quick", "--json", "--out"):
      self.assertIn(flag, done.stdout)

  def test_bad_flags_are_refused(self):
    for words in (["--subjects=redis"], ["--subjects=kamino,kamino"],
                  ["--subjects=kamino@1"], ["--subjects=kamino@17"],
                  ["--failures=0"], ["--failures=x"], ["--failures=1,1"],
                  ["--workloads=ycsb-g"], ["--delays=-1"], ["--alpha=0"],
                  ["--alpha=2"], ["--outstanding=0"], ["--rounds=0"],
                  ["--slice_ms=x"], ["--prices=/no/such/file"],
                  ["--nonsense=1"]):
      self.assertIn("error: ", self.refused(words))

  def refused(self, words):
    """The error for flags that are refused."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
      with self.assertRaises(SystemExit, msg=words) as ended:
        chain.parse(words)
    self.assertEqual(ended.exception.code, 2)
    return said.getvalue()

  def test_a_wrong_price_list_is_refused(self):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
      file.write('{"processor_hour": "dear"}')
      file.flush()
      self.assertIn("processor_hour", self.refused([f"--prices={file.name}"]))

  def test_default_settings(self):
    settings = chain.parse([])
    self.assertEqual(settings.failures, [1, 2, 3])
    self.assertEqual((settings.rounds, settings.delays), (3, [100, 300, 1000]))
    self.assertTrue(settings.adds_simple)
    self.assertEqual({"kamino-simple", *settings.subjects}, set(chains.KINDS))
    self.assertGreater(settings.prices["processor_hour"], 0)
    quick = chain.parse(["--quick", "--rounds=2", "--subjects=kamino"])
    self.assertEqual((quick.rounds, quick.adds_simple), (2, False))

  def test_subjects_are_parsed(self):
    for word in (*chains.KINDS, "kamino@2", "traditional-log@16"):
      self.assertIsNone(chains.check_subject(word))
    self.assertEqual(chains.nodes_of("kamino", 2), 4)
    self.assertEqual(chains.nodes_of("traditional-log", 2), 3)
    self.assertEqual(chains.nodes_of("images", 3), 4)
    self.assertEqual(chains.nodes_of("kamino@5", 1), 5)
    with self.assertRaises(argparse.ArgumentTypeError):
      chain.words_of(chains.check_subject, "subject")("kamino,")

  def test_storage_matches_table_1(self):
    def times(name, failures, alpha):
      kind = chains.KINDS[name]
      return kind.storage(kind.nodes(failures), alpha)
    self.assertEqual(times("traditional-log", 2, 0.5), 3)
    self.assertEqual(times("traditional-dynamic", 2, 0.5), 4.5)
    self.assertEqual(times("kamino", 2, 0.5), 4.5)
    self.assertEqual(times("kamino-simple", 2, 0.5), 5)
    self.assertEqual(times("images", 2, 0.5), 3.5)
    self.assertEqual(chains.KINDS["kamino"].formula(), "f+2+α")
    self.assertEqual(chains.KINDS["traditional-dynamic"].formula(),
                     "(1+α)(f+1)")


class NoSuchMode(chains.ChainRig):
  """Whose nodes are started in a mode that no node has."""

  def _start(self, word):
    kind = chains.Kind("sideways", "dynamic", 1, chains.NO_COPY)
    chains.KINDS["kamino"], old = kind, chains.KINDS["kamino"]
    try:
      return super()._start(word)
    finally:
      chains.KINDS["kamino"] = old


class RaceTest(unittest.TestCase):

  def test_an_invalid_mode_is_refused(self):
    settings = chain.parse(["--heap_mb=16"])
    with self.assertRaisesRegex(
        chains.ClusterError, "kamino: its nodes .*--chain_mode=sideways.* did "
                             "not come up.*must be"):
      with NoSuchMode(["kamino"], 1, 0, settings, chain.Binaries()):
        self.fail("it has started")

  def test_a_run_has_every_part(self):
    before = set(glob.glob(os.path.join(SHARED_MEMORY, "kamino-chain-*")))
    with tempfile.TemporaryDirectory() as folder:
      out = os.path.join(folder, "chain.json")
      done = run("--quick", "--subjects=kamino@2,kamino@3", "--failures=1",
                 "--workloads=put,tpcc,tree", "--outstanding=1,16",
                 "--delays=0,5000", "--objects=100", "--slice_ms=300",
                 "--tree_rates=500", "--heap_mb=32", f"--out={out}")
      self.assertEqual(done.returncode, 0, done.stderr)
      with open(out, encoding="utf-8") as file:
        results = json.load(file)
    self.check_measurements(results["measurements"])
    self.assertEqual([s["nodes"] for s in results["storage"]], [2, 3])
    for stored in results["storage"]:
      # Simulated by the files of so many heaps and one copy of a quarter.
      self.assertGreater(stored["by_files"], stored["nodes"] + 0.2)
      self.assertLess(stored["by_files"], stored["nodes"] + 1)
      self.assertGreater(stored["by_use"], stored["nodes"])
    sent = {(s["subject"], s["value_size"]): s["bytes_per_op"]
            for s in results["links"]}
    for size in chain.LINK_SIZES:
      # A link more, and an answer from the tail.
      self.assertGreater(sent["kamino@2", size], size)
      self.assertGreater(sent["kamino@3", size], sent["kamino@2", size] + size)
    self.assertTrue(all(m["holds"] is None for m in results["marks"]))
    self.assertIn("TPC-C's mix, f = 1", done.stdout)
    self.assertIn("memory slower by 5000 ns", done.stdout)
    after = set(glob.glob(os.path.join(SHARED_MEMORY, "kamino-chain-*")))
    self.assertLessEqual(after, before)

  def check_measurements(self, rows):
    self.assertEqual({(r["suite"], r["delay_ns"]) for r in rows},
                     {("ycsb", 0), ("tpcc", 0), ("tree", 0),
                      ("delay", 5000)})
    self.assertEqual(len(rows), 2 * (2 + 2 + 4 + 2))
    for row in rows:
      self.assertEqual(row["errors"], 0, row)
      self.assertGreater(row["ops_per_s"], 0, row)
    roles = {row["subject"]: list(row["processor_us_per_op"]) for row in rows}
    self.assertEqual(roles["kamino@3"], ["driver", "head", "middle1", "tail",
                                         "manager", "etcd"])
    # Each node writes the 16 lines of a value to its ring and to its heap.
    slower = [r["p50_us"] for r in rows if r["suite"] == "delay"
              and r["outstanding"] == 1 and r["subject"] == "kamino@2"]
    self.assertGreater(slower[0], 2 * 2 * 16 * 5)


if __name__ == "__main__":
  unittest.main(verbosity=2)
