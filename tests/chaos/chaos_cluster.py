"""A cluster whose parties live in network namespaces and on small disks."""

import itertools
import os
import re
import shutil
import signal
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.realpath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "deploy", "local"))
# pylint: disable=wrong-import-position
from local_cluster import LocalCluster
from processes import ClusterError

NODES = 4
MANAGERS = 3
WORKLOADS = ("registers", "bank", "lists")
# Places with clients: one of each workload, on the same objects. So there may
# be somebody on either side of a partition.
SIDES = ("east", "west")
HEAP_MB = 32
RING_MB = 16
NODE_DISK_MB = 96  # heap, ring, an undo copy, and some
ETCD_DISK_MB = 256
FIRST_PORT = 7000
BALLAST = "ballast"
LEADS = re.compile(r"(is the leader of cluster|leads no more)")


def parties():
  """Who has a namespace of its own."""
  return (["etcd"] + [_manager(i) for i in range(1, MANAGERS + 1)] +
          [f"n{i}" for i in range(1, NODES + 1)] + list(SIDES))


def _manager(number):
  return "manager" if number == 1 else f"manager{number}"


class ChaosCluster(LocalCluster):
  """Etcd, managers and nodes, each in its namespace and on its disk.

  A process that ends without having been told to is a fault of its own: see
  unexpected_ends.

  Args:
    network: a Network with all parties().
  """

  def __init__(self, folder, binaries, network, failure_timeout_ms):
    super().__init__(folder, binaries)
    self.network = network
    self.failure_timeout_s = failure_timeout_ms / 1000
    self._ports = itertools.count(FIRST_PORT)
    self._mounted = []
    self._killed = set()  # names of processes that were told to end
    self._clients = {}  # name to Popen

  def start_all(self):
    self.start(nodes=NODES, heap_mb=HEAP_MB, ring_mb=RING_MB,
               failure_timeout_ms=int(self.failure_timeout_s * 1000),
               managers=MANAGERS)

  # --- Where its processes live.

  def new_address(self, name):
    return f"{self.network.host(name)}:{next(self._ports)}"

  def command_for(self, name, arguments):
    party = name if name in parties() else "hub"
    return self.network.command(party, arguments)

  def node_command(self, name, address):
    return [*super().node_command(name, address),
            f"--link_listen={self.network.host(name)}:0"]

  def start_etcd(self, address=None):
    self._mount("etcd", ETCD_DISK_MB)
    super().start_etcd(address)

  def start_node(self, name, address=None):
    self._mount(name, NODE_DISK_MB)
    super().start_node(name, address)

  def _mount(self, name, megabytes):
    """A disk of a size: memory that ends somewhere."""
    folder = self.data_dir(name)
    if folder in self._mounted:
      return
    os.makedirs(folder)
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=700", "tmpfs",
         folder], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False)
    if done.returncode != 0:
      raise ClusterError(f"mount {folder}: {done.stdout.strip()}")
    self._mounted.append(folder)

  def destroy(self):
    for client in self._clients.values():
      client.kill()
      client.wait()
    self.stop()
    for folder in reversed(self._mounted):
      subprocess.run(["umount", "-l", folder], check=False,
                     stderr=subprocess.DEVNULL)
    self._mounted = []
    shutil.rmtree(self.folder, ignore_errors=True)
    self.state = {}

  # --- Clients.

  def start_client(self, name, program, workload, side, *flags):
    """A load of a workload from one side."""
    with open(self.log_path(name), "w", encoding="utf-8") as log:
      self._clients[name] = subprocess.Popen(
          self.network.command(side, [
              program, f"--seeds={self.seeds}", f"--workload={workload}",
              f"--client={SIDES.index(side)}", f"--clients={len(SIDES)}",
              *flags]),
          stdin=subprocess.DEVNULL, stdout=log, stderr=log)

  def client_runs(self, name):
    return self._clients[name].poll() is None

  def end_clients(self, timeout):
    """Lets them read everything once more; returns what went wrong."""
    for client in self._clients.values():
      client.send_signal(signal.SIGTERM)
    problems = []
    for name, client in self._clients.items():
      try:
        code = client.wait(timeout)
      except subprocess.TimeoutExpired:
        client.kill()
        client.wait()
        code = f"no end within {timeout} s"
      if code != 0:
        problems.append(f"the client of {name} ended with {code}: "
                        f"{self.log_tail(name).strip()}")
    self._clients = {}
    return problems

  # --- What is.

  def leader(self):
    """The manager that says it leads; None while nobody does."""
    for name in self.managers:
      if not self.alive(name):
        continue
      with open(self.log_path(name), encoding="utf-8",
                errors="replace") as log:
        said = LEADS.findall(log.read())
      if said and said[-1].startswith("is the leader"):
        return name
    return None

  def serving(self):
    """The chain, head first; empty while nobody tells."""
    try:
      return self.chain()[0]
    except ClusterError:
      return []

  def unexpected_ends(self):
    """Processes that have ended by themselves."""
    return [name for name in self.state["processes"]
            if name not in self._killed and not self.alive(name)]

  # --- Faults.

  def crash(self, name):
    self._killed.add(name)
    if self.alive(name):
      self.kill(name)

  def excuse(self, name):
    """That it ends by itself is as it should be."""
    self._killed.add(name)

  def revive(self, name):
    """Starts what was killed, on its data and at its address."""
    if not self.alive(name):
      self.restart(name)
    self._killed.discard(name)

  def lose_data(self, name):
    """Of a node that does not run."""
    for file in os.listdir(self.data_dir(name)):
      if file.endswith(".pmem"):
        os.remove(os.path.join(self.data_dir(name), file))

  def pause(self, name):
    self.kill(name, signal.SIGSTOP)

  def resume(self, name):
    if self.alive(name):
      self.kill(name, signal.SIGCONT)

  def fill_disk(self, name):
    """Leaves no byte free."""
    path = os.path.join(self.data_dir(name), BALLAST)
    with open(path, "wb") as ballast:
      free = shutil.disk_usage(self.data_dir(name)).free
      os.posix_fallocate(ballast.fileno(), 0, max(free, 1))

  def free_disk(self, name):
    try:
      os.remove(os.path.join(self.data_dir(name), BALLAST))
    except FileNotFoundError:
      pass

  def fill_heap(self, megabytes):
    """With objects that nobody changes, so that there is state to transfer."""
    self.kamino("bench", "put", f"--count={megabytes}", f"--keys={megabytes}",
                "--value_size=1000000", "--outstanding=4", "--timeout=30s")

  def contents(self):
    """All objects, as the tail has them."""
    return self.kamino("scan", "--timeout=10s").stdout
