"""Inside a machine: clients' sessions over rxe0.

  sessions.py FOLDER     FOLDER: on a file system with DAX
"""

import os
import subprocess
import sys
import unittest

from guest_cluster import PATIENCE_S, GuestClusterTest
from harness import Load, wait_until
from local_cluster import ClusterError

TRANSFERS = 600  # of a load
OUTSTANDING = 8
CALLS = 200
CARRIER = "--carrier=verbs"


def listing():
  """The kernel's list of queue pairs, a line for each."""
  return subprocess.run(["rdma", "resource", "show", "qp"], check=True,
                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                        text=True, timeout=PATIENCE_S).stdout


def program_of(thread):
  """The list names threads, each of which has a name of its own."""
  try:
    return os.path.basename(os.readlink(f"/proc/{thread}/exe"))
  except OSError:  # it has ended
    return ""


def pairs():
  """(program, program of the other end or "") of each connected queue pair.

  As the kernel has it: what a program says of itself is no proof. All are on
  one device, so that numbers are of one kind.
  """
  found = {}
  for words in map(str.split, listing().splitlines()):
    if "RTS" in words and "pid" in words:
      at = dict(zip(words, words[1:]))
      found[at["lqpn"]] = (program_of(at["pid"]), at["rqpn"])
  return [(program, found.get(other, ("", ""))[0])
          for program, other in found.values()]


def of_clients():
  return sum(program == "kamino" for program, _ in pairs())


def of_nodes_for_clients():
  """Those that no other node's pair answers, as chain links' are."""
  return sum(program == "kamino_node" and other != "kamino_node"
             for program, other in pairs())


class SessionsTest(GuestClusterTest):
  start = {**GuestClusterTest.start, "transport": "verbs"}

  def test_mutations_and_reads_use_sessions(self):
    self.await_links("verbs")
    self.assertEqual(of_nodes_for_clients(), 0, listing())
    self.open_bank()
    load = Load(self.cluster, TRANSFERS, "verbs.acked.log", OUTSTANDING,
                words=[CARRIER])
    wait_until(lambda: of_clients() > 0 or not load.is_alive(),
               PATIENCE_S, "a queue pair of the client's")
    self.assertTrue(load.is_alive(), "no session over verbs was seen")
    # The two ends of a connection are ready one after the other.
    wait_until(lambda: of_nodes_for_clients() > 0 or not load.is_alive(),
               PATIENCE_S, "a queue pair of a node's for the client")
    self.assertTrue(load.is_alive(), listing())
    self.check_bank(load)
    for verb in ("put", "get"):
      print(self.kamino("bench", verb, f"--count={CALLS}", "--keys=50",
                        f"--outstanding={OUTSTANDING}", "--timeout=60s",
                        CARRIER))
    self.await_no_pairs()
    self.a_client_is_killed()
    self.kamino("bench", "get", f"--count={CALLS}", "--keys=50",
                "--timeout=60s", CARRIER)

  def a_client_is_killed(self):
    """Its node lets go of all it had for it."""
    with subprocess.Popen(
        [self.cluster.binary("kamino"), f"--seeds={self.cluster.seeds}",
         "bench", "put", "--count=1000000", "--keys=50", "--timeout=60s",
         CARRIER], stdout=subprocess.DEVNULL) as client:
      try:
        wait_until(lambda: of_clients() > 0, PATIENCE_S,
                   "a queue pair of the client's")
        wait_until(lambda: of_nodes_for_clients() > 0, PATIENCE_S,
                   "a queue pair of a node's for the client")
      finally:
        client.kill()
    self.await_no_pairs()
    print("a client that was killed has left no queue pair")

  def await_no_pairs(self):
    try:
      wait_until(lambda: of_nodes_for_clients() == 0, PATIENCE_S,
                 "the nodes to let go of their clients' queue pairs")
    except ClusterError as error:
      self.fail(f"{error}\n{listing()}")


if __name__ == "__main__":
  SessionsTest.parent = sys.argv.pop(1)
  unittest.main(verbosity=2)
