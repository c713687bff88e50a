"""Two virtual machines, a chain across them, and the power of one is cut."""

import os
import time

from machine import Machine, VmError, make_nvdimm
from processes import free_port
from spread import PATIENCE_S, SpreadCluster, await_that

MEMORY_MB = 1024
NVDIMM_MB = 320
POOL = "/tmp/vm/pmem"
LOAD = 600  # transfers
LONG_S = 240  # a failure timeout that no boot exceeds
SHORT_S = 5


def _network(side, words):
  return ["-netdev", f"socket,id=net,{words}", "-device",
          f"virtio-net-pci,netdev=net,mac=52:54:00:00:00:0{side}"]


class PairOfVms:
  """The parts, in order.

  One machine holds the head and the tail, n1 and n4, and loses its power; the
  other one the rest, etcd, the manager and the client.
  """

  def __init__(self, folder, image, programs, report):
    port = free_port()
    self._report = report
    self._nvdimms = []
    self._left = self._machine("left", folder, image, _network(
        1, f"listen=127.0.0.1:{port}"))
    self._right = self._machine("right", folder, image, _network(
        2, f"connect=127.0.0.1:{port}"))
    left, right = self._left, self._right
    self._addresses = {left: "10.9.0.1", right: "10.9.0.2"}
    self._cluster = SpreadCluster(
        left, {"n1": right, "n2": left, "n3": left, "n4": right},
        self._addresses, programs, POOL)

  def _machine(self, name, folder, image, network):
    nvdimm = os.path.join(folder, f"{name}.nvdimm")
    make_nvdimm(nvdimm, NVDIMM_MB)
    self._nvdimms.append(nvdimm)
    return Machine(name, folder, image, MEMORY_MB, nvdimm, network)

  def run(self):
    part = self._report.part
    try:
      if (part("pair: boot two", self._boot) and
          part("pair: chain across", self._start_chain)):
        part("pair: quick reboot", self._quick_reboot)
        part("pair: late return", self._late_return)
      if self._report.failed:
        self._show_logs()
    finally:
      for machine in (self._left, self._right):
        machine.cut_power()
      for nvdimm in self._nvdimms:
        os.unlink(nvdimm)

  # --- Parts.

  def _boot(self):
    # The left one listens before the right one connects: QEMU takes a
    # connection that is refused for one that is on its way, for good.
    for machine in (self._left, self._right):
      machine.start()
      self._prepare(machine)
    self._await_network()
    return "joined by QEMU's socket network; an rxe0 on it and an NVDIMM each"

  def _start_chain(self):
    cluster = self._cluster
    cluster.start_etcd()
    cluster.start_manager(LONG_S)
    for name in cluster.nodes:
      cluster.start_node(name)
    cluster.await_chain(cluster.nodes)
    cluster.await_links()
    cluster.load("first", 1, setup=True).wait()
    return "n1 and n4 in one machine, n2 and n3 in the other; all links verbs"

  def _quick_reboot(self):
    """Back before it counts as failed: each node keeps its place."""
    load, acked = self._cut_under_load("quick")
    seconds = self._return()
    self._cluster.await_chain(self._cluster.nodes)
    self._cluster.await_links()
    return f"{self._settle(load, 'first', 'quick')}, {acked} of them before " \
           f"the cut; back after {seconds:.0f} s, in the old places"

  def _late_return(self):
    """Back after it was dropped: the nodes join anew."""
    self._cluster.start_manager(SHORT_S)
    self._cluster.await_chain(self._cluster.nodes)
    self._cluster.await_leases()
    load, acked = self._cut_under_load("late")
    self._cluster.await_chain(["n2", "n3"])
    load.wait()
    self._return()
    await_that(lambda: sorted(s["node_id"] for s in self._cluster.statuses())
               == self._cluster.nodes, "the nodes to join again")
    self._cluster.await_links()
    facts = self._settle(load, "first", "quick", "late")
    return f"{facts}, {acked} of the load's before the cut; joined as tails"

  # --- Steps of them.

  def _prepare(self, machine):
    machine.await_agent()
    machine.guest("network.sh", f"{self._addresses[machine]}/24")
    machine.guest("rdma.sh", "eth0")
    machine.guest("pmem.py", "fsdax", POOL)

  def _await_network(self):
    ping = ["busybox", "ping", "-c", "5", "-W", "5"]
    if self._right.run(*ping, self._addresses[self._left],
                       check=False)[0] != 0:
      raise VmError("no network between the machines")

  def _cut_under_load(self, name):
    """The load, which goes on, and what it had done before the cut."""
    load = self._cluster.load(name, LOAD)
    self._left.await_lines(self._cluster.log(name), LOAD // 10, PATIENCE_S)
    if load.done():
      raise VmError("the load ended before the power was cut")
    acked = len(self._cluster.acked(name))
    self._right.cut_power()
    return load, acked

  def _return(self):
    """Boots the machine that lost its power; seconds until nodes start."""
    began = time.monotonic()
    self._right.start()
    self._prepare(self._right)
    self._await_network()
    for name in ("n1", "n4"):
      self._cluster.start_node(name)
    return time.monotonic() - began

  def _settle(self, load, *names):
    load.wait()
    transfers = self._cluster.check_bank(*names)
    operations = self._cluster.await_equal()
    return f"{transfers} transfers, {operations} operations on each node"

  def _show_logs(self):
    """On the consoles, which are kept."""
    for machine in (self._left, self._right):
      try:
        machine.run("sh", "-c", "tail -n 40 /tmp/vm/*.log")
      except VmError:
        pass  # it has ended, and its console says why
