"""A chain inside an emulated machine.

A wait ends with the event that it waits for. It is long only if the event does
not happen.
"""

import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "integration"))
# pylint: disable=wrong-import-position
from harness import ClusterTest, wait_until

PATIENCE_S = 300


class GuestClusterTest(ClusterTest):
  """One test over one cluster: starting it takes seconds."""

  start = {"pmem": "auto", "heap_mb": 64, "ring_mb": 16,
           "failure_timeout_ms": 8000, "leader_ttl_s": 10,
           "manager_flags": ["--heartbeat_interval_ms=1000"]}
  patience = 10

  def await_links(self, transport, connected=True):
    """All of them: a node takes another transport when its choice fails."""
    wait_until(lambda: self._links() == {(transport, connected)}, PATIENCE_S,
               lambda: f"all links to be {transport or 'without transport'}, "
                       f"connected: {connected}; now {self._links()}")

  def _links(self):
    done = self.cluster.kamino("status", "--json", check=False)
    if done.returncode != 0:
      return done.stderr
    return {(link["transport"], link["connected"])
            for node in map(json.loads, done.stdout.splitlines()[1:])
            for link in node["links"]}
