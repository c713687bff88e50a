"""A disk with slow syncs, for one process, by slow_syncs.cc."""

import os
import struct

from processes import ClusterError
from wall_clock import is_mapped, library_at

LIBRARY = "tests/chaos/libslow_syncs.so"
CONTROL = struct.Struct("<qq")  # how long a sync waits, how many have waited


def cannot_slow():
  """What this machine lacks for it; "": nothing."""
  if library_at(LIBRARY) is None:
    return f"{LIBRARY} is not built; run make chaos"
  return ""


class SlowDisk:
  """The disk of processes that start with environment(); fast at first.

  Args:
    path: the file that the library reads the delay from; created here.
  """

  def __init__(self, path):
    self._path = path
    with open(path, "wb") as f:
      f.write(CONTROL.pack(0, 0))

  def environment(self):
    return {"LD_PRELOAD": library_at(LIBRARY), "SLOW_SYNCS": self._path}

  def delay(self, seconds):
    """Sets how much longer each later sync takes."""
    descriptor = os.open(self._path, os.O_WRONLY)
    os.pwrite(descriptor, struct.pack("<q", int(seconds * 1e9)), 0)
    os.close(descriptor)

  def delayed(self):
    """The number of syncs that were delayed so far."""
    with open(self._path, "rb") as f:
      return CONTROL.unpack(f.read(CONTROL.size))[1]

  def check_used(self, pid):
    """Raises unless the process has the library's file mapped."""
    if not is_mapped(self._path, pid):
      raise ClusterError(f"process {pid} has another disk than {self._path}")
