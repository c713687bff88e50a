"""The stderr of a process as a pipe into its log; the pipe's reader can be
stopped."""

import errno
import fcntl
import os
import threading

from processes import ClusterError, wait_until

PIPE_BYTES = 4096  # the least that Linux gives
FILLER = b"filler: the reader of this log stands still\n"
READS_S = 10.0
F_SETPIPE_SZ = 1031


class LogPipe:
  """A thread copies from the pipe to the log until the last writer has ended.

  Args:
    path: the log, which is appended to.
  """

  def __init__(self, path):
    self._path = path
    self._read, write = os.pipe()
    fcntl.fcntl(write, F_SETPIPE_SZ, PIPE_BYTES)
    # For the process that is started; the caller closes it then.
    self.write_end = os.fdopen(write, "wb", buffering=0)
    self._log = open(path, "ab", buffering=0)
    self._reads = threading.Event()
    self._reads.set()
    self._stands = threading.Event()
    self._thread = threading.Thread(target=self._copy, daemon=True)
    self._thread.start()

  def fill(self):
    """Stops the reader and fills the pipe to its last byte."""
    self._reads.clear()
    pipe = self._open_again()
    try:
      # It reads once more, as it may wait for bytes already.
      self._write(pipe, FILLER)
      wait_until(self._stands.is_set, READS_S, "a log's reader to stand still")
      while self._write(pipe, FILLER * (PIPE_BYTES // len(FILLER))):
        pass
      while self._write(pipe, b"."):
        pass
    finally:
      os.close(pipe)
    self.check_full()

  def check_full(self):
    """Raises if the pipe has room, as something was read since fill()."""
    pipe = self._open_again()
    try:
      if self._write(pipe, b"."):
        raise ClusterError(f"the pipe to {self._path} was to be full, and took "
                           "a byte")
    finally:
      os.close(pipe)

  def read_on(self):
    self._stands.clear()
    self._reads.set()

  def end(self):
    """Waits, once the writer has ended, until all of it is in the log."""
    self.read_on()
    self._thread.join(READS_S)
    if self._thread.is_alive():
      raise ClusterError(f"the pipe to {self._path} still has a writer")

  def _open_again(self):
    """An end to write to, which does not block; those of others still do."""
    return os.open(f"/proc/self/fd/{self._read}",
                   os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)

  @staticmethod
  def _write(pipe, data):
    """How much of it there was room for."""
    try:
      return os.write(pipe, data)
    except OSError as error:
      if error.errno != errno.EAGAIN:
        raise
      return 0

  def _copy(self):
    with self._log:
      while True:
        if not self._reads.is_set():
          self._stands.set()
          self._reads.wait()
        data = os.read(self._read, PIPE_BYTES)
        if not data:
          break
        self._log.write(data)
    os.close(self._read)
