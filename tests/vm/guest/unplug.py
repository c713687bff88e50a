"""Inside a machine: a chain over rxe0, which goes away under load and returns.

  unplug.py FOLDER     FOLDER: on a file system with DAX
"""

import json
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "integration"))
# pylint: disable=wrong-import-position
from harness import ENDLESS, ClusterTest, Load, wait_until

DEVICE, INTERFACE = "rxe0", "v0"  # as rdma.sh makes them
TRANSFERS = 60  # before the device goes, and after its return
OUTSTANDING = 8
PATIENCE_S = 60


def call(*words):
  subprocess.run(words, check=True, timeout=PATIENCE_S)


class UnplugTest(ClusterTest):
  start = {"pmem": "auto", "heap_mb": 64, "ring_mb": 16, "transport": "verbs",
           "failure_timeout_ms": 8000, "leader_ttl_s": 10,
           "manager_flags": ["--heartbeat_interval_ms=1000"]}
  patience = 10

  def test_all_goes_on_when_it_returns(self):
    self.open_bank()
    loads = [
        self.without_it("being removed",
                        ["rdma", "link", "delete", DEVICE],
                        ["rdma", "link", "add", DEVICE, "type", "rxe",
                         "netdev", INTERFACE]),
        self.without_it("port error",
                        ["ip", "link", "set", INTERFACE, "down"],
                        ["ip", "link", "set", INTERFACE, "up"])]
    self.check_bank(*loads)
    self.cluster.await_chain(self.cluster.nodes, timeout=PATIENCE_S)

  def without_it(self, event, take, give_back):
    """A load that began before `take`, and ended after `give_back`."""
    load = Load(self.cluster, ENDLESS, f"{take[0]}.acked.log", OUTSTANDING)
    load.await_acked(TRANSFERS)
    call(*take)
    self.await_links({("", False)})
    for name in self.cluster.nodes:
      self.assertIn(event, self.cluster.log_tail(name, lines=10**6), name)
    acked = load.acked()
    call(*give_back)
    self.await_links({("verbs", True)})
    load.await_acked(acked + TRANSFERS)
    load.stop()
    print(f"{event}: {acked} transfers before, {load.acked() - acked} after")
    return load

  def await_links(self, expected):
    def links():
      done = self.cluster.kamino("status", "--json", check=False)
      if done.returncode != 0:  # out of time, on emulated processors
        return done.stderr
      return {(link["transport"], link["connected"])
              for node in map(json.loads, done.stdout.splitlines()[1:])
              for link in node["links"]}
    wait_until(lambda: links() == expected, PATIENCE_S,
               f"all links to be {expected}")


if __name__ == "__main__":
  UnplugTest.parent = sys.argv.pop(1)
  unittest.main(verbosity=2)
