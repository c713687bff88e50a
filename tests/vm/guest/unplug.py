"""Inside a machine: a chain over rxe0, which goes away under load and returns.

  unplug.py FOLDER     FOLDER: on a file system with DAX
"""

import subprocess
import sys
import unittest

from guest_cluster import PATIENCE_S, GuestClusterTest
from harness import ENDLESS, Load

DEVICE, INTERFACE = "rxe0", "v0"  # as rdma.sh makes them
TRANSFERS = 60  # before the device goes, and after its return
OUTSTANDING = 8


def call(*words):
  subprocess.run(words, check=True, timeout=PATIENCE_S)


class UnplugTest(GuestClusterTest):
  start = {**GuestClusterTest.start, "transport": "verbs"}

  def test_the_chain_continues_when_the_device_returns(self):
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
    self.await_links("", connected=False)
    for name in self.cluster.nodes:
      self.assertIn(event, self.cluster.log_tail(name, lines=10**6), name)
    acked = load.acked()
    call(*give_back)
    self.await_links("verbs")
    load.await_acked(acked + TRANSFERS)
    load.stop()
    print(f"{event}: {acked} transfers before, {load.acked() - acked} after")
    return load


if __name__ == "__main__":
  UnplugTest.parent = sys.argv.pop(1)
  unittest.main(verbosity=2)
