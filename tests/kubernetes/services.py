"""Processes that a test starts, and ends when it ends."""

import ctypes
import os
import signal
import subprocess
import time

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)


class RigError(Exception):
  """A service that the test needs does not run; one line."""


def await_true(condition, timeout, what, poll=0.1):
  """Polls until condition() is true; returns its value."""
  deadline = time.monotonic() + timeout
  while True:
    value = condition()
    if value:
      return value
    if time.monotonic() > deadline:
      raise RigError(f"waited {timeout:g} s for {what}")
    time.sleep(poll)


def _die_with_parent():
  _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Services:
  """Servers, each with a log in one folder; the last one started ends first."""

  def __init__(self, folder):
    self.folder = folder
    self._running = []  # (name, Popen)
    os.makedirs(folder, exist_ok=True)

  def log(self, name):
    return os.path.join(self.folder, f"{name}.log")

  def start(self, name, *command, **environment):
    with open(self.log(name), "ab") as log:
      process = subprocess.Popen(
          command, stdin=subprocess.DEVNULL, stdout=log,
          stderr=subprocess.STDOUT, env={**os.environ, **environment},
          preexec_fn=_die_with_parent)
    self._running.append((name, process))
    return process

  def check(self):
    """All of them are still there."""
    for name, process in self._running:
      if process.poll() is not None:
        with open(self.log(name), encoding="utf-8", errors="replace") as f:
          last = (f.read().strip().splitlines() or ["it said nothing"])[-1]
        raise RigError(f"{name} has ended: {last}")

  def stop(self, patience=10):
    while self._running:
      _, process = self._running.pop()
      process.terminate()
      try:
        process.wait(patience)
      except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
