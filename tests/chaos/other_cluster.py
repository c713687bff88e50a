"""A cluster of another operator, whose node has the address of one of ours.

It has the same name. Clients of ours that go to that address must be refused
there: nothing of theirs may be in it when it ends.
"""

import itertools
import json

from local_cluster import LocalCluster
from processes import ClusterError, wait_until

HEAP_MB = 16
RING_MB = 16
FIRST_PORT = 17000
ANSWERS_S = 20.0


class OtherCluster(LocalCluster):
  """Etcd, a manager and a node, all in the namespace of one of our nodes.

  Args:
    folder: where it lives, and nothing else.
    ours: the ChaosCluster.
    victim: name of the node whose address it takes; it does not run.
  """

  insecure = True

  def __init__(self, folder, ours, victim):
    super().__init__(folder, ours.binaries)
    self._ours = ours
    self._victim = victim
    self._ports = itertools.count(FIRST_PORT)

  @property
  def address(self):
    return self._ours.state["addresses"][self._victim]

  def new_address(self, name):
    if name in ("etcd", "manager"):
      return f"127.0.0.1:{next(self._ports)}"
    return self.address

  def command_for(self, name, arguments):
    return self._ours.network.command(self._victim, arguments)

  def take_address(self):
    self.start(nodes=1, heap_mb=HEAP_MB, ring_mb=RING_MB,
               failure_timeout_ms=int(self._ours.failure_timeout_s * 1000),
               node_flags=[f"--link_listen={self.address.rsplit(':', 1)[0]}:0"])
    # By the way that clients come.
    wait_until(lambda: self._uuid_at(self.address) == self._uuid(), ANSWERS_S,
               f"another cluster to answer at {self.address}")

  def check_nothing_came(self):
    keys = self.kamino("scan", "--keys_only", "--limit=1").stdout.strip()
    if keys:
      raise ClusterError(f"another cluster at {self.address} has executed what "
                         f"is ours: it has the key {keys}")

  def _uuid(self):
    return self._uuid_of(self.kamino("status", "--json"))

  def _uuid_at(self, address):
    return self._uuid_of(self._ours.kamino("status", "--json", check=False,
                                           seeds=address))

  @staticmethod
  def _uuid_of(done):
    lines = done.stdout.splitlines()
    return json.loads(lines[0])["cluster_uuid"] if lines else None
