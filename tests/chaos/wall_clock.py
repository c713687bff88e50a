"""Wall clocks of processes, set by tests/clock/stepped_clock.cc."""

import os
import struct
import subprocess
import sys
import time

from processes import ClusterError

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.realpath(__file__))))
LIBRARY = "tests/clock/libstepped_clock.so"
TOLERANCE_S = 1.0


def library_at(name):
  """Path in this checkout, or in KAMINO_BIN_ROOT; None: not there."""
  root = os.environ.get("KAMINO_BIN_ROOT") or os.path.join(ROOT, "bazel-bin")
  path = os.path.abspath(os.path.join(root, name))
  return path if os.path.exists(path) else None


def library():
  return library_at(LIBRARY)


def with_environment(arguments, *environments):
  """The command that runs `arguments` with these; all libraries that one of
  them preloads are."""
  merged = {}
  for name, value in (item for e in environments for item in e.items()):
    if name == "LD_PRELOAD" and name in merged:
      value = f"{merged[name]}:{value}"
    merged[name] = value
  if not merged:
    return arguments
  return ["env", *(f"{n}={v}" for n, v in sorted(merged.items())), *arguments]


def is_mapped(path, pid):
  """Whether a process has a file in its memory."""
  with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
    return any(line.rstrip().endswith(path) for line in f)


def cannot_step():
  return "" if library() else f"{LIBRARY} is not built; run make chaos"


class WallClock:
  """The clock of the processes that are started by command(); right at
  first."""

  def __init__(self, path):
    self.path = path
    self._write(0)

  def _write(self, seconds):
    """In one write, which processes that have it mapped see at once."""
    descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o600)
    os.pwrite(descriptor, struct.pack("<q", seconds * 10**9), 0)
    os.close(descriptor)

  def environment(self):
    """The environment of a process with this clock."""
    if library() is None:
      return {}
    return {"LD_PRELOAD": library(), "STEPPED_CLOCK": self.path}

  def command(self, arguments):
    return with_environment(arguments, self.environment())

  def step(self, seconds, pid):
    """Sets it off the right time by that; raises if `pid` does not use it."""
    self._write(seconds)
    self._check_mapped(pid)
    told = subprocess.run(
        self.command([sys.executable, "-c", "import time; print(time.time())"]),
        stdout=subprocess.PIPE, text=True, check=True).stdout
    off = float(told) - time.time()
    if abs(off - seconds) > TOLERANCE_S:
      raise ClusterError(f"a clock was to be {seconds:+d} s off, and is "
                         f"{off:+.1f} s")

  def _check_mapped(self, pid):
    if not is_mapped(self.path, pid):
      raise ClusterError(f"process {pid} does not go by {self.path}")
