"""Facts about processes and ports of this machine, from /proc."""

import os
import random
import socket
import time

POLL_S = 0.02
MOST_POLL_S = 5.0
# A factor for every wait for an event: CONTRIBUTING.md, A slower machine.
TIME_SCALE = "KAMINO_TEST_TIME_SCALE"
_LISTENING = "0A"  # a state in /proc/net/tcp
# Variables that tell kamino about a cluster. A shell may have set them for
# another cluster, so scripts remove them and pass options.
CLIENT_VARIABLES = ("KAMINO_SEEDS", "KAMINO_MANAGERS", "KAMINO_CLUSTER",
                    "KAMINO_CONFIG", "KAMINO_INSECURE", "KAMINO_TLS_CERT",
                    "KAMINO_TLS_KEY", "KAMINO_TLS_CA", "KAMINO_TLS_CRL_DIR")


class ClusterError(Exception):
  """Something the user has to know; one line."""


def time_scale():
  """How many times longer than usual an event may take; 1 by default."""
  told = os.environ.get(TIME_SCALE) or "1"
  try:
    scale = float(told)
  except ValueError:
    scale = 0
  if not 0 < scale < 1000:
    raise ClusterError(f"{TIME_SCALE} is {told}; it must be a number above 0 "
                       "and below 1000")
  return scale


def patience(seconds):
  """How long to wait for an event that usually takes less than `seconds`."""
  return seconds * time_scale()


def client_environment():
  """The environment, without what it tells kamino."""
  return {name: value for name, value in os.environ.items()
          if name not in CLIENT_VARIABLES}


def free_port():
  """An unused port, below those that the system gives to clients."""
  while True:
    port = random.randrange(10240, 32768)
    with socket.socket() as s:
      try:
        s.bind(("127.0.0.1", port))
        return port
      except OSError:
        continue


def start_time(pid):
  """The start time, which tells a process from a later one; None: gone."""
  try:
    with open(f"/proc/{pid}/stat", encoding="ascii",
              errors="replace") as f:
      fields = f.read().rsplit(")", 1)[1].split()
    # The first thread may be gone before others, which hold the files. The
    # count here includes them all: a listing of ending threads misses some.
    ended = fields[0] == "Z" and int(fields[17]) < 2
  except (OSError, IndexError):
    return None
  return None if ended else fields[19]


def _listening_sockets(pid, port):
  """Inodes of the sockets that listen on a port where the process lives."""
  found = set()
  for table in (f"/proc/{pid}/net/tcp", f"/proc/{pid}/net/tcp6"):
    try:
      with open(table, encoding="ascii") as f:
        rows = [line.split() for line in f.readlines()[1:]]
    except OSError:
      continue  # a kernel without IPv6, or the process is gone
    for row in rows:
      if row[3] == _LISTENING and int(row[1].rsplit(":", 1)[1], 16) == port:
        found.add(f"socket:[{row[9]}]")
  return found


def listens(pid, port):
  """Whether this very process, not another one, listens on the port."""
  sockets = _listening_sockets(pid, port)
  folder = f"/proc/{pid}/fd"
  try:
    names = os.listdir(folder)
  except OSError:
    return False
  for name in names:
    try:
      if os.readlink(os.path.join(folder, name)) in sockets:
        return True
    except OSError:
      continue  # closed meanwhile
  return False


def processor_s():
  """Processor time of this process, and of its children that have ended."""
  return sum(os.times()[:4])


def wait_until(condition, timeout, what, cost=processor_s):
  """Polls until condition() is true, for patience(timeout); returns its value.

  The timeout only tells a missing event from a late one: a wait ends with the
  event. `what` is a text, or a function that returns it after the timeout.
  A condition may start programs, and the awaited event may need the processor:
  the pauses are twice as long as what the condition took by `cost`, a clock.
  """
  timeout = patience(timeout)
  deadline = time.monotonic() + timeout
  while True:
    took = -cost()
    value = condition()
    if value:
      return value
    took += cost()
    if time.monotonic() > deadline:
      told = what() if callable(what) else what
      raise ClusterError(f"waited {timeout:g} s for {told}")
    time.sleep(min(max(POLL_S, 2 * took), MOST_POLL_S))
