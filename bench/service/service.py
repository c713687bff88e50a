#!/usr/bin/env python3
"""Kamino beside Redis and etcd on this machine: throughput and latency.

Starts the servers, runs bench_service against them, ends them. Flags that are
not listed here are bench_service's (bench_service --help).
"""

import argparse
import os
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, HERE)
# pylint: disable=wrong-import-position
from rig import ClusterError, Rig, check_subject
from binaries import Binaries

SUBJECTS = "kamino-shm,kamino-shm-images,redis,redis-aof,etcd"
PROGRAM = "bench/service/bench_service"


def subjects(text):
  words = text.split(",")
  for word in words:
    wrong = check_subject(word)
    if wrong is not None:
      raise argparse.ArgumentTypeError(wrong)
  if len(set(words)) != len(words):
    raise argparse.ArgumentTypeError("a subject is named twice")
  return words


def connections(text):
  try:
    writing, reading = (int(part) for part in text.split(","))
  except ValueError as error:
    raise argparse.ArgumentTypeError("WRITING,READING, such as 2,1") from error
  if min(writing, reading) < 1 or max(writing, reading) > 1024:
    raise argparse.ArgumentTypeError("1 to 1024 of each")
  return writing, reading


def parse(words=None):
  parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
  parser.add_argument(
      "--subjects", type=subjects, default=subjects(SUBJECTS),
      help="redis (no append-only file), redis-aof (one, always synced), "
           "etcd, kamino-LINKS[-images][-NODES][@CARRIER], such as "
           "kamino-shm-3 and kamino-shm-images, "
           f"separated by commas (default: {SUBJECTS})")
  parser.add_argument("--nodes", type=int, choices=range(2, 17), default=4,
                      metavar="N",
                      help="of a Kamino chain; one less in mode images, which "
                           "survives as many failures (default: 4)")
  parser.add_argument("--heap_mb", type=int, default=768,
                      help="of each Kamino node (default: %(default)s)")
  parser.add_argument("--undo_copy", choices=("simple", "dynamic"),
                      default="dynamic",
                      help="of a Kamino head (default: %(default)s)")
  parser.add_argument("--redis_connections", type=connections, default=(2, 1),
                      metavar="WRITING,READING",
                      help="to the master; see docs/benchmarks/service.md "
                           "(default: 2,1)")
  parser.add_argument("--etcd_connections", type=int, default=1,
                      choices=range(1, 129), metavar="N",
                      help="to the leader (default: %(default)s)")
  return parser.parse_known_args(words)


def run(rig, program, flags, stdout=None):
  """bench_service's exit code. It ends when this does."""
  with subprocess.Popen(
      [program, *(f"--subject={spec}" for spec in rig.specs), *flags],
      stdin=subprocess.DEVNULL, stdout=stdout,
      start_new_session=True) as process:
    try:
      return process.wait()
    finally:
      if process.poll() is None:
        process.kill()


def main():
  for number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.default_int_handler)
  settings, flags = parse()
  binaries = Binaries()
  program = os.path.join(binaries.root, PROGRAM)
  try:
    if not os.access(program, os.X_OK):
      raise ClusterError(f"{PROGRAM} is not in {binaries.root}; run make "
                         "bench-service")
    with Rig(settings.subjects, settings, binaries) as rig:
      code = run(rig, program, flags)
      disturbed = rig.disturbed() if code == 0 else []
  except ClusterError as error:
    print(f"service: {error}", file=sys.stderr)
    return 1
  except KeyboardInterrupt:
    return 130
  for why in disturbed:
    print(f"service: the figures are of no use: {why}", file=sys.stderr)
  return 1 if disturbed else code


if __name__ == "__main__":
  sys.exit(main())
