"""Inside a machine: a chain of four nodes with its heaps on the NVDIMM.

  chain.py FOLDER TRANSPORT [DEVICES]

FOLDER is on a file system with DAX, for the heaps unless there is DEVICES, a
folder of links to devices by their nodes' names.
"""

import os
import sys
import unittest

from guest_cluster import PATIENCE_S, GuestClusterTest
from harness import ENDLESS, Load, wait_until

TRANSFERS = 40  # before a kill, and after it
OUTSTANDING = 8


def mapping_flags(pid, name):
  """The kernel's flags of a process's mapping of a file of that path's end."""
  current = False
  with open(f"/proc/{pid}/smaps", encoding="ascii") as f:
    for line in f:
      fields = line.split()
      if not fields[0].endswith(":"):
        current = line.rstrip().endswith(f"/{name}")
      elif current and fields[0] == "VmFlags:":
        return fields[1:]
  return []


class NvdimmChainTest(GuestClusterTest):
  def test_tail_and_head_are_killed_under_load(self):
    self.heaps_are_mapped_with_dax()
    self.await_links(self.start["transport"])
    self.open_bank()
    chain, _ = self.cluster.chain()
    loads = []
    for victim in (chain[-1], chain[0]):
      load = Load(self.cluster, ENDLESS, f"{victim}.acked.log", OUTSTANDING)
      loads.append(load)
      load.await_acked(TRANSFERS)
      self.cluster.kill(victim)
      chain.remove(victim)
      self.await_view_without(victim)
      load.await_acked(load.acked() + TRANSFERS)
      load.stop()
    self.check_bank(*loads)
    # A busy host may have had one dropped that was merely slow: it is back.
    self.cluster.await_chain(chain, timeout=PATIENCE_S)
    self.await_links(self.start["transport"])

  def heaps_are_mapped_with_dax(self):
    """"sf": a store is durable once its cache line is written back."""
    for name in self.cluster.nodes:
      pid = self.cluster.state["processes"][name]["pid"]
      device = self.start["devices"].get(name)
      files = ([os.path.realpath(device)[1:]] if device else
               [f"{name}/heap.pmem", f"{name}/ring.pmem"])
      for file in files:
        self.assertIn("sf", mapping_flags(pid, file), f"{name}: {file}")

  def await_view_without(self, victim):
    """Reads the manager's log: asking the nodes would disturb their work."""
    def dropped():
      log = self.cluster.log_tail("manager", lines=50).splitlines()
      stored = [line for line in log if "stored view" in line]
      return f"{victim} " not in stored[-1]
    wait_until(dropped, PATIENCE_S, f"a view without {victim}")


if __name__ == "__main__":
  NvdimmChainTest.parent = sys.argv.pop(1)
  NvdimmChainTest.start["transport"] = sys.argv.pop(1)
  NvdimmChainTest.start["devices"] = {
      name: os.path.join(folder, name)
      for folder in sys.argv[1:] for name in os.listdir(folder)}
  del sys.argv[1:]
  unittest.main(verbosity=2)
