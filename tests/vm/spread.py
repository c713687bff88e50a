"""A cluster whose nodes run in several machines."""

import json
import time

from machine import VmError
from processes import ClusterError, wait_until

CLUSTER = "spread"
ETCD_PORT, ETCD_PEER_PORT, MANAGER_PORT = 2379, 2380, 7000
NODE_PORT, LINK_PORT = 7100, 7200  # and the node's number
PATIENCE_S = 120.0
HEAP_MB, RING_MB = 64, 16
TRANSPORT = "verbs"
ACCOUNTS, BALANCE = 50, 1000


def await_that(condition, what, seconds=PATIENCE_S):
  try:
    # A condition takes its processor time in a machine.
    return wait_until(condition, seconds, what, time.monotonic)
  except ClusterError as error:
    raise VmError(str(error)) from error


class SpreadCluster:
  """etcd, a manager and the client in one machine, nodes in all.

  Args:
    home: the machine of etcd, the manager and the client.
    places: node name ("n1") to its machine, in the chain's order.
    addresses: machine to its address.
    programs: the folder that holds the built programs.
    data: the folder for heaps, in each machine.
  """

  def __init__(self, home, places, addresses, programs, data):
    self._home = home
    self._places = places
    self._addresses = addresses
    self._programs = programs
    self._data = data
    self._manager_pid = None

  @property
  def nodes(self):
    return list(self._places)

  # --- Life.

  def start_etcd(self):
    here = self._addresses[self._home]
    client = f"http://{here}:{ETCD_PORT}"
    peer = f"http://{here}:{ETCD_PEER_PORT}"
    self._start(self._home, "etcd", [
        "etcd", "--name=e", "--data-dir=/tmp/vm/etcd",
        f"--listen-client-urls={client}", f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=e={peer}"])

  def start_manager(self, failure_timeout_s):
    """Replaces an earlier one."""
    if self._manager_pid is not None:
      self._home.run("kill", "-9", self._manager_pid)
    here = self._addresses[self._home]
    self._manager_pid = self._start(self._home, "manager", [
        f"{self._programs}/membership/kamino_manager",
        f"--cluster_id={CLUSTER}", f"--listen={here}:{MANAGER_PORT}",
        f"--etcd={here}:{ETCD_PORT}", f"--chain_length={len(self._places)}",
        f"--failure_timeout_ms={failure_timeout_s * 1000}",
        "--heartbeat_interval_ms=1000", "--leader_ttl_s=10", "--insecure"])

  def start_node(self, name):
    machine = self._places[name]
    here = self._addresses[machine]
    number = int(name[1:])
    self._start(machine, name, [
        f"{self._programs}/node/kamino_node", f"--cluster_id={CLUSTER}",
        f"--node_id={name}", f"--data_dir={self._data}/{name}",
        f"--listen={here}:{NODE_PORT + number}",
        f"--link_listen={here}:{LINK_PORT + number}",
        f"--managers={self._addresses[self._home]}:{MANAGER_PORT}",
        f"--heap_mb={HEAP_MB}", f"--ring_mb={RING_MB}", "--pmem=auto",
        f"--transport={TRANSPORT}", "--insecure"])

  def _start(self, machine, name, words):
    return machine.guest("start.sh", name, *words).strip()

  # --- What is.

  def kamino(self, *words, timeout=PATIENCE_S, check=True):
    """Exit code and output."""
    return self.kamino_job(*words, timeout=timeout).wait(check)

  def kamino_job(self, *words, timeout):
    seeds = ",".join(f"{self._addresses[machine]}:{NODE_PORT + int(name[1:])}"
                     for name, machine in self._places.items())
    return self._home.job(f"{self._programs}/client/cli/kamino",
                          f"--seeds={seeds}", "--insecure", *words,
                          timeout=timeout)

  def statuses(self):
    """The status of the chain's nodes, head first; nothing without an
    answer."""
    code, output = self.kamino("status", "--json", "--timeout=10s", check=False)
    if code != 0:
      return []
    return [json.loads(line) for line in output.splitlines()[1:]]

  def await_chain(self, names):
    await_that(lambda: [s["node_id"] for s in self.statuses()] == names,
               f"the chain to be {', '.join(names)}")

  def await_leases(self):
    """No node goes by a lease of a former manager, which may be a longer one.

    Until then a node that dies is dropped once that lease is over.
    """
    manager = f"{self._addresses[self._home]}:{MANAGER_PORT}"

    def renewed():
      code, output = self.kamino("admin", "status", "--json",
                                 f"--managers={manager}", check=False)
      if code != 0:
        return False
      members = [node for node in json.loads(output).get("nodes", [])
                 if node["member"]["node_id"] in self._places]
      return (len(members) == len(self._places) and
              all(int(node.get("former_lease_ms", 0)) == 0
                  for node in members))
    await_that(renewed, "each node to hold a lease of this manager")

  def await_links(self):
    def links():
      return {(link["transport"], link["connected"])
              for status in self.statuses() for link in status["links"]}
    await_that(lambda: links() == {(TRANSPORT, True)},
               f"all links to be {TRANSPORT}")

  def await_equal(self):
    """The same operations and objects everywhere; their number."""
    def equal():
      found = {(s["applied"], s["objects"]) for s in self.statuses()}
      return found.pop()[0] if len(found) == 1 else None
    return int(await_that(equal, "all nodes to hold the same"))

  # --- A bank, and its books.

  def load(self, name, count, setup=False):
    """A job that makes `count` transfers, written down as acknowledged."""
    words = ["bench", "transfer", f"--count={count}", "--outstanding=8",
             f"--accounts={ACCOUNTS}", f"--balance={BALANCE}",
             f"--acked_log={self.log(name)}", f"--timeout={PATIENCE_S:g}s"]
    return self.kamino_job(*words, *(["--setup"] if setup else []),
                           timeout=2 * PATIENCE_S)

  def log(self, name):
    """Where a load writes down what is acknowledged, at home."""
    return f"/tmp/vm/acked.{name}.log"

  def acked(self, name):
    """The transfers of a load so far."""
    output = self._home.run("cat", self.log(name), check=False)[1]
    return [(a, b, int(n)) for a, b, n, _ in
            (line.split() for line in output.splitlines()
             if line.startswith("bank/") and len(line.split()) == 4)]

  def check_bank(self, *loads):
    """Each acknowledged transfer has happened once, and nothing else."""
    balances = {f"bank/{i:06d}": BALANCE for i in range(ACCOUNTS)}
    transfers = [t for load in loads for t in self.acked(load)]
    for source, target, amount in transfers:
      balances[source] -= amount
      balances[target] += amount
    _, output = self.kamino("scan", "--prefix=bank/", "--timeout=60s")
    found = dict(line.split("\t") for line in output.splitlines())
    wrong = [f"{key} holds {found.get(key)}, not {value}"
             for key, value in balances.items() if found.get(key) != str(value)]
    if wrong or len(found) != len(balances):
      raise VmError(f"{len(transfers)} transfers were acknowledged, but "
                    f"{len(wrong)} accounts are wrong: {'; '.join(wrong[:3])}")
    return len(transfers)
