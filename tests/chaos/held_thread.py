#!/usr/bin/env python3
"""Stops one thread of a process while its others go on: by ptrace, which lets
it go when this program ends.

  held_thread.py PID TID   says "held" when it has stopped; until end of input
"""

import ctypes
import os
import subprocess
import sys

PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 17, 0x4206, 0x4207
WALL = 0x40000000
STOPPED = "t"  # by a tracer; in /proc/PID/task/TID/stat


class ThreadError(Exception):
  """Something the user has to know; one line."""


def threads(pid):
  """Id to name."""
  found = {}
  for tid in os.listdir(f"/proc/{pid}/task"):
    try:
      with open(f"/proc/{pid}/task/{tid}/comm", encoding="utf-8") as f:
        found[int(tid)] = f.read().strip()
    except OSError:
      continue  # it has ended
  return found


def state(pid, tid):
  """A letter, and how many clock ticks it has run."""
  with open(f"/proc/{pid}/task/{tid}/stat", encoding="utf-8",
            errors="replace") as f:
    fields = f.read().rsplit(")", 1)[1].split()
  return fields[0], int(fields[11]) + int(fields[12])


def states(pid):
  """The letters of all threads that have not ended."""
  found = []
  for tid in threads(pid):
    try:
      found.append(state(pid, tid)[0])
    except OSError:
      continue  # it ended after threads() found it
  return found


class HeldThread:
  """Holds a thread of another process. ThreadError if it cannot be held."""

  def __init__(self, pid, tid):
    self.pid, self.tid = pid, tid
    self._holder = subprocess.Popen(
        [sys.executable, "-B", os.path.realpath(__file__), str(pid), str(tid)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True)
    said = self._holder.stdout.readline().strip()
    if said != "held":
      self._end()
      raise ThreadError(f"thread {tid} of {pid}: {said}")
    self._ticks = state(pid, tid)
    if self._ticks[0] != STOPPED:
      self._end()
      raise ThreadError(f"thread {tid} of {pid} was to be stopped, and goes on")

  def let_go(self):
    """ThreadError if it has run meanwhile."""
    try:
      now = state(self.pid, self.tid)
    except OSError:
      now = None  # the process has ended
    self._end()
    if now not in (None, self._ticks):
      raise ThreadError(f"thread {self.tid} of {self.pid} was held and ran")

  def _end(self):
    self._holder.stdin.close()
    self._holder.wait()
    self._holder.stdout.close()


def cannot_hold():
  """Why threads cannot be held here; "" if they can."""
  with subprocess.Popen(["cat"], stdin=subprocess.PIPE,
                        stdout=subprocess.DEVNULL) as other:
    try:
      HeldThread(other.pid, other.pid).let_go()
      return ""
    except ThreadError as error:
      return f"no ptrace: {error}"
    finally:
      other.kill()


def hold(tid):
  """Until the end of standard input."""
  libc = ctypes.CDLL(None, use_errno=True)
  libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p,
                          ctypes.c_void_p]
  libc.ptrace.restype = ctypes.c_long
  def ptrace(request):
    if libc.ptrace(request, tid, None, None) != 0:
      raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
  try:
    ptrace(PTRACE_SEIZE)
    ptrace(PTRACE_INTERRUPT)
    os.waitpid(tid, WALL)
  except OSError as error:
    print(error.strerror, flush=True)
    return 1
  print("held", flush=True)
  sys.stdin.read()
  try:
    ptrace(PTRACE_DETACH)
  except OSError:
    pass  # the process was killed
  return 0


if __name__ == "__main__":
  sys.exit(hold(int(sys.argv[2])))
