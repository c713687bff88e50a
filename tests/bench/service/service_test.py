"""The service bench: its words, and a race of real servers, which is short."""

import argparse
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.realpath(__file__)))))
PROGRAM = os.path.join(ROOT, "bench", "service", "service.py")
sys.path.insert(0, os.path.dirname(PROGRAM))
# pylint: disable=wrong-import-position
import rig
import service

BENCH = os.path.join("bench", "service", "bench_service")


def run(*words, program=(sys.executable, "-B", PROGRAM), **environment):
  return subprocess.run([*program, *words], stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE, text=True,
                        env={**os.environ, **environment}, check=False)


class WordsTest(unittest.TestCase):

  def test_help(self):
    done = run("--help")
    self.assertEqual(done.returncode, 0)
    for flag in ("--subjects", "--nodes", "--redis_connections"):
      self.assertIn(flag, done.stdout)
    done = run("--help", program=[BENCH])
    self.assertEqual(done.returncode, 0)
    for flag in ("--workloads", "--loads", "--json", "--out"):
      self.assertIn(flag, done.stdout)

  def test_bad_flags_are_refused(self):
    for words in (["--subjects=mongo"], ["--subjects=kamino"],
                  ["--subjects=kamino-tcp-1"], ["--subjects=redis,redis"],
                  ["--nodes=1"], ["--redis_connections=0,1"],
                  ["--redis_connections=1"]):
      done = run(*words)
      self.assertEqual(done.returncode, 2, words)
      self.assertIn("error:", done.stderr)
    for words in ([], ["--subject=name=r;kind=redis"],
                  ["--subject=name=r;kind=etcd;at=a:1", "--workloads=ycsb-g"],
                  ["--subject=name=r;kind=etcd;at=a:1", "--rounds=0"],
                  ["--subject=name=r;kind=etcd;at=a:1", "--value_sizes=8"]):
      done = run(*words, program=[BENCH])
      self.assertEqual(done.returncode, 2, words)
      self.assertIn("bench-service: ", done.stderr)

  def test_subjects_are_parsed(self):
    for word in ("redis", "redis-aof", "etcd", "kamino-tcp", "kamino-shm-3",
                 "kamino-tcp@kamino+shm", "kamino-shm-3@grpc",
                 "kamino-shm-images", "kamino-tcp-images-2@grpc"):
      self.assertIsNone(rig.check_subject(word))
    with self.assertRaises(argparse.ArgumentTypeError):
      service.subjects("redis,")
    settings, flags = service.parse(["--nodes=3", "--rounds=2"])
    self.assertEqual(settings.subjects, service.SUBJECTS.split(","))
    self.assertEqual((settings.nodes, flags), (3, ["--rounds=2"]))

  def test_a_missing_rival_is_an_error(self):
    with tempfile.TemporaryDirectory() as empty:
      old = os.environ["PATH"]
      os.environ["PATH"] = empty
      try:
        with self.assertRaisesRegex(rig.ClusterError, "install-packages"):
          rig.program("no-such-server")
      finally:
        os.environ["PATH"] = old


class RaceTest(unittest.TestCase):

  def test_every_workload_runs_on_every_subject(self):
    with tempfile.TemporaryDirectory() as folder:
      out = os.path.join(folder, "service.json")
      done = run("--subjects=kamino-tcp,kamino-shm-images,redis,redis-aof,etcd",
                 "--heap_mb=64",
                 "--redis_connections=2,2",
                 "--workloads=put,get,tx10,ycsb-d,ycsb-e,ycsb-f",
                 "--objects=200", "--rounds=1", "--slice_ms=150",
                 "--warm_up_ms=5", "--outstanding=1,16", "--loads=50",
                 "--endurance_s=0", "--json", f"--out={out}")
      self.assertEqual(done.returncode, 0, done.stderr)
      with open(out, encoding="utf-8") as file:
        text = file.read()
      self.assertEqual(text, done.stdout)
    result = json.loads(text)
    self.assertEqual([s["name"] for s in result["subjects"]],
                     ["kamino-tcp", "kamino-shm-images", "redis", "redis-aof",
                      "etcd"])
    self.assertEqual([re.search(r"\(f = \d\)", s["about"])[0]
                      for s in result["subjects"]],
                     ["(f = 2)", "(f = 2)", "(f = 2)", "(f = 2)", "(f = 1)"])
    rows = result["measurements"]
    # Redis has no scans.
    self.assertEqual(len(rows), 3 * (5 * 5 + 3))
    for row in rows:
      self.assertEqual(row["errors"], 0)
      self.assertGreater(row["ops_per_s"], 0)
      self.assertLessEqual(row["p50_us"], row["max_us"] * 1.01)
      self.assertGreater(row["processor_us_per_op"]["driver"], 0)
    roles = {row["subject"]: list(row["processor_us_per_op"])
             for row in rows}
    self.assertEqual(roles["kamino-tcp"], [
        "driver", "head", "middle1", "middle2", "tail", "manager", "etcd"])
    self.assertEqual(roles["kamino-shm-images"], [
        "driver", "head", "middle1", "tail", "manager", "etcd"])
    self.assertEqual(roles["redis"],
                     ["driver", "master", "replica1", "replica2"])
    self.assertEqual(roles["etcd"],
                     ["driver", "leader", "follower1", "follower2"])

  def test_a_race_leaves_no_files(self):
    before = set(glob.glob(os.path.join(rig.SHARED_MEMORY, "kamino-service-*")))
    done = run("--subjects=redis", "--objects=10", "--rounds=1",
               "--slice_ms=5", "--workloads=put", "--outstanding=1",
               "--loads=0", "--endurance_s=0")
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertIn("WAIT 2", done.stdout)
    after = set(glob.glob(os.path.join(rig.SHARED_MEMORY, "kamino-service-*")))
    self.assertLessEqual(after, before)


if __name__ == "__main__":
  unittest.main(verbosity=2)
