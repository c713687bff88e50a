"""bench-transport as a program: flags, exit codes, what it writes."""

import json
import os
import subprocess
import tempfile
import unittest

PROGRAM = os.path.join("bench", "transport", "bench_transport")


def run(*flags):
  return subprocess.run([PROGRAM, *flags], stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE, text=True, check=False)


class ProgramTest(unittest.TestCase):

  def test_measures_every_link_beside_a_bare_one(self):
    with tempfile.TemporaryDirectory() as folder:
      out = os.path.join(folder, "transport.json")
      done = run("--quick", "--links=shm,tcp", "--sizes=64,70000",
                 "--rounds=2", "--json", f"--out={out}")
      self.assertEqual(done.returncode, 0, done.stderr)
      with open(out, encoding="utf-8") as file:
        text = file.read()
    self.assertEqual(done.stdout, text)
    result = json.loads(text)
    rows = result["measurements"]
    self.assertEqual(
        [(row["link"], row["bytes"]) for row in rows],
        [(link, size) for size in (64, 70000)
         for link in ("bare-epoll", "shm", "tcp")])
    for row in rows:
      self.assertGreater(row["round_trip_p50_ns"], 0)
      self.assertGreaterEqual(row["round_trip_p99_ns"],
                              row["round_trip_p50_ns"])
      self.assertGreater(row["one_way_p50_ns"], 0)
      self.assertGreater(row["round_trip_to_bare_epoll"], 0)
      if row["link"] == "bare-epoll":
        self.assertIsNone(row["messages_per_s"])
      else:
        self.assertGreater(row["messages_per_s"], 0)
    self.assertEqual([row["link"] for row in result["idle"]], ["shm", "tcp"])
    self.assertEqual(len(result["targets"]), 5)
    self.assertIn("verbs", result["facts"])

  def test_help_and_bad_flags(self):
    self.assertEqual(run("--help").returncode, 0)
    for flags, word in ((["--links=udp"], "udp"), (["--rounds=-1"], "--rounds"),
                        (["--sizes=7"], "--sizes"), (["--sizes=x"], "--sizes"),
                        (["--verbs_device=none0", "--links=verbs"], "none0"),
                        (["--no_such_flag"], "no_such_flag"),
                        (["word"], "word")):
      done = run(*flags)
      self.assertEqual(done.returncode, 2, flags)
      self.assertIn(word, done.stderr)

  def test_an_unwritable_file_is_an_error(self):
    done = run("--quick", "--links=shm", "--sizes=64", "--rounds=1",
               "--out=/no/such/folder/x")
    self.assertEqual(done.returncode, 1)
    self.assertIn("/no/such/folder/x", done.stderr)


if __name__ == "__main__":
  unittest.main()
