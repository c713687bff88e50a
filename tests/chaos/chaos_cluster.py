"""A cluster whose parties live in network namespaces and on small disks, and
the faults' actions on it. Each act checks that it had its effect."""

import errno
import itertools
import json
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
import held_thread
import media
from held_thread import HeldThread, ThreadError
from local_cluster import LocalCluster
from network import HUB
from operator_acts import Operator, log_since
from other_cluster import OtherCluster
from processes import ClusterError, patience, wait_until
from store import QUOTA_MB, Store
from surroundings import Surroundings
from wall_clock import WallClock, with_environment

# Flags of the nodes of a chain in each mode; in traditional mode once with logs
# and once with copies.
MODES = {
    "kamino": (),
    "traditional": ("--chain_mode=traditional", "--undo_copy=log"),
    "traditional-dynamic": ("--chain_mode=traditional", "--undo_copy=dynamic"),
    "images": ("--chain_mode=images",),
}
NODES = 4
MANAGERS = 3
WORKLOADS = ("registers", "bank", "lists")
# Places with clients: one of each workload, on the same objects. So each side
# of a partition may have clients.
SIDES = ("east", "west")
HEAP_MB = 32
RING_MB = 16
NODE_DISK_MB = 96  # heap, ring, an undo copy, and some
ETCD_DISK_MB = 256
FIRST_PORT = 7000
BALLAST = "ballast"
FILL_TRIES = 100
LEADS = re.compile(r"(is the leader of cluster|leads no more)")
ENDS_S = 20.0  # what is to end by itself
CONFIRMED_S = 60.0  # two passes take a few seconds
MORE_S = 30.0  # writes while a fault is prepared
FATAL = ("Check failed", "*** SIG")
REREAD = "SIGHUP: read anew"  # what a process logs at that signal


def parties():
  """All processes and places that have a namespace of their own."""
  return (["etcd"] + [_manager(i) for i in range(1, MANAGERS + 1)] +
          [f"n{i}" for i in range(1, NODES + 1)] + list(SIDES))


def _manager(number):
  return "manager" if number == 1 else f"manager{number}"


def fill_up(path):
  """Has the file take what its disk has left; whether no byte is free then.

  Another process that writes there may take some of it, or give some back.
  """
  with open(path, "wb") as ballast:
    taken = 0
    for _ in range(FILL_TRIES):
      more = max(shutil.disk_usage(os.path.dirname(path)).free, 1)
      try:
        os.posix_fallocate(ballast.fileno(), taken, more)
        taken += more
      except OSError as error:
        if error.errno != errno.ENOSPC:
          raise
        if more == 1:
          return True
  return False


class ChaosCluster(LocalCluster):
  """Etcd, managers and nodes, each in its namespace and on its disk.

  A process that ends without having been told to is a fault of its own: see
  unexpected_ends.

  Args:
    network: a Network with all parties().
    mode: one of MODES.
  """

  insecure = True

  def __init__(self, folder, binaries, network, failure_timeout_ms,
               mode="kamino"):
    super().__init__(folder, binaries)
    self.network = network
    self.mode = mode
    self.failure_timeout_s = patience(failure_timeout_ms / 1000)
    self._ports = itertools.count(FIRST_PORT)
    self._mounted = []
    self._killed = set()  # names of processes that were told to end
    self._clients = {}  # name to Popen
    self._sides = {}  # of the same names
    self._clocks = {}
    self._logged = {}  # name to where in its log its last start is
    self._copies = itertools.count(1)
    self._others = {}  # node to the OtherCluster that has its address
    self._other_folders = itertools.count(1)
    self.around = Surroundings(network, f"{self.folder}.around", parties())
    self.operator = Operator(self)
    self.store = Store(self)
    self.tell = lambda text: None  # a fault's detail
    self.await_more_or = lambda count: None  # acknowledged writes, or a while
    self.await_renewal = lambda: None  # of the leadership, at etcd

  def start_all(self):
    self.around.start()
    self.start(nodes=NODES, heap_mb=HEAP_MB, ring_mb=RING_MB,
               failure_timeout_ms=int(self.failure_timeout_s * 1000),
               managers=MANAGERS,
               # They are killed again and again, and their bits change.
               node_flags=["--restart_limit=0", "--scrub_min_pass_s=0",
                           *MODES[self.mode]])

  @property
  def seeds(self):
    """Without addresses that another cluster has: with these `kamino` ends with
    an error that names both."""
    return ",".join(self.addresses_of(
        n for n in self.nodes if n not in self._others))

  # --- Where its processes live.

  def new_address(self, name):
    return f"{self.network.host(name)}:{next(self._ports)}"

  def addresses_of(self, names):
    """Host names with ports; the processes listen on IP addresses."""
    return [self._named(n, self.state["addresses"][n]) for n in names]

  def _named(self, name, address):
    return f"{self.around.name_of(name)}:{address.rsplit(':', 1)[1]}"

  def command_for(self, name, arguments):
    if name in parties() and name != "etcd":
      arguments = with_environment(
          arguments, self.clock_of(name).environment(),
          self.around.environment(name))
    return self.around.command(name if name in parties() else HUB, arguments)

  def clock_of(self, name):
    """Clients of one side have one."""
    if name not in self._clocks:
      self._clocks[name] = WallClock(f"{self.folder}.clock.{name}")
    return self._clocks[name]

  def node_command(self, name, address):
    return [*super().node_command(name, address),
            f"--advertise={self._named(name, address)}",
            f"--link_listen={self.network.host(name)}:0",
            f"--link_advertise={self.around.name_of(name)}:0"]

  def _manager_command(self, name, address):
    etcd, = self.addresses_of(["etcd"])
    return [*super()._manager_command(name, address), f"--etcd={etcd}",
            f"--advertise={self._named(name, address)}"]

  def _etcd_command(self, address):
    return [*super()._etcd_command(address),
            f"--quota-backend-bytes={QUOTA_MB << 20}"]

  def _launch(self, name, arguments, address=None):
    path = self.log_path(name)
    self._logged[name] = os.path.getsize(path) if os.path.exists(path) else 0
    super()._launch(name, arguments, address)

  def _open_log(self, name):
    return self.around.log_of(name) or super()._open_log(name)

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
    for other in self._others.values():
      other.destroy()
    self._end_restless()
    self.stop()
    self.around.close()
    for folder in reversed(self._mounted):
      subprocess.run(["umount", "-l", folder], check=False,
                     stderr=subprocess.DEVNULL)
    self._mounted = []
    shutil.rmtree(self.folder, ignore_errors=True)
    self.state = {}

  def _end_restless(self):
    """Those with a thread that is held do not end by SIGTERM."""
    for name in self.state.get("processes", {}):
      if (self.alive(name) and
          held_thread.STOPPED in held_thread.states(self.pid(name))):
        self.kill(name)

  # --- Clients.

  def start_client(self, name, program, workload, side, *flags):
    """A load of a workload from one side."""
    with open(self.log_path(name), "w", encoding="utf-8") as log:
      self._sides[name] = side
      self._clients[name] = subprocess.Popen(
          self.command_for(side, [
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
        code = client.wait(patience(timeout))
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

  def leader(self, but=()):
    """The manager that says it leads, of all but some; None while none
    does."""
    for name in self.managers:
      if name in but or not self.alive(name):
        continue
      # Its log from before its restart does not count.
      said = LEADS.findall(log_since(self.log_path(name),
                                     self._logged.get(name, 0)))
      if said and said[-1].startswith("is the leader"):
        return name
    return None

  def serving(self):
    """The chain, head first; empty while no server knows it."""
    try:
      return self.chain()[0]
    except ClusterError:
      return []

  def have_leases(self, *names):
    """Whether each of these nodes may answer by itself."""
    done = self.kamino("status", "--json", "--timeout=2s", check=False)
    nodes = [json.loads(line) for line in done.stdout.splitlines()[1:]]
    return set(names) <= {n["node_id"] for n in nodes if n.get("lease_valid")}

  def await_confirmed(self):
    """Two whole passes of the scrub: all members agree on what they hold."""
    def passes():
      lines = self.kamino("status", "--json", check=False).stdout.splitlines()
      nodes = [json.loads(line) for line in lines[1:]]
      return max((int(node.get("scrub", {}).get("passes", 0))
                  for node in nodes if node.get("role") == "head"), default=0)
    goal = passes() + 2
    wait_until(lambda: passes() >= goal, CONFIRMED_S,
               "two passes of the scrub")

  def unexpected_ends(self):
    """Processes that have ended by themselves."""
    return [name for name in self.state["processes"]
            if name not in self._killed and not self.alive(name)]

  def pid(self, name):
    return self.state["processes"][name]["pid"]

  def has_ended(self, name):
    """Or was started again by the operator meanwhile."""
    return not self.alive(name) or any(
        act.startswith(f"{name} joins anew") for act in self.operator.acts)

  def last_words(self, name, lines=6):
    """The end of its log, if it was written since it was started."""
    if not self.alive(name):
      self.around.await_log(name)
    said = log_since(self.log_path(name), self._logged.get(name, 0))
    if any(fatal in said for fatal in FATAL):
      return "a crash: " + said[-2000:]
    return "\n".join(said.splitlines()[-lines:])

  def says_at_end(self, name, texts):
    said = self.last_words(name)
    return any(text in said for text in texts)

  def said_by_managers(self, since=""):
    """The managers' logs, without the part in `since`."""
    logs = []
    for name in self.managers:
      with open(self.log_path(name), encoding="utf-8", errors="replace") as f:
        logs.append(f.read())
    text = "\0".join(logs)
    if not since:
      return text
    return "\0".join(log[len(old):] for log, old in zip(
        logs, since.split("\0")))

  # --- Faults.

  def crash(self, name):
    self._killed.add(name)
    if self.alive(name):
      self.kill(name)

  def excuse(self, name):
    """An end of the process is expected from now on."""
    self._killed.add(name)

  def revive(self, name, *flags):
    """Starts what was killed, on its data and at its address."""
    if not self.alive(name):
      self._start_with(name, flags)
    self._killed.discard(name)

  def revive_or_ends(self, name):
    """Starts it as revive() does; it may end at once, which the operator
    finds."""
    self.start_or_ends(name)
    self._killed.discard(name)

  def start_or_ends(self, name, *flags):
    """Starts it with these flags behind its own; it may end by them."""
    try:
      self._start_with(name, flags)
    except ClusterError:
      if self.alive(name):
        raise

  def _start_with(self, name, flags):
    key = "manager_args" if name in self.managers else "node_args"
    before = self.state[key]
    self.state[key] = [*before, *flags]
    try:
      self.restart(name)
    finally:
      self.state[key] = before

  def lose_data(self, name):
    """Removes the files of a node that does not run, and its damage record."""
    for file in os.listdir(self.data_dir(name)):
      if file.endswith(".pmem") or file == media.DAMAGE:
        os.remove(os.path.join(self.data_dir(name), file))

  def pause(self, name):
    self.kill(name, signal.SIGSTOP)
    self._await_state(name, lambda state: state == "T", "to be stopped")

  def resume(self, name):
    if self.alive(name):
      self.kill(name, signal.SIGCONT)
      self._await_state(name, lambda state: state != "T", "to go on")

  def _await_state(self, name, wanted, what):
    pid = self.pid(name)
    wait_until(lambda: all(map(wanted, held_thread.states(pid))), ENDS_S,
               f"{name} {what}")

  def hold_thread(self, name, dice, *names):
    """Stops one of its threads that have one of these names, or any."""
    pid = self.pid(name)
    found = {tid: called for tid, called in
             held_thread.threads(pid).items() if called in names or not names}
    if not found:
      raise ClusterError(f"{name} has no thread named {' or '.join(names)}")
    tid = dice.choice(sorted(found))
    self.tell(f"thread {found[tid]} of {name}")
    try:
      return HeldThread(pid, tid)
    except ThreadError as error:
      raise ClusterError(str(error)) from error

  def step_clock(self, name, seconds):
    """The wall clock of a process, or of the clients of a side."""
    pids = ([c.pid for n, c in self._clients.items()
             if self._sides[n] == name] if name in SIDES else
            [self.pid(name)] if self.alive(name) else [])
    for pid in pids:
      self.clock_of(name).step(seconds, pid)

  def fill_disk(self, name):
    """Leaves no byte free."""
    if not fill_up(os.path.join(self.data_dir(name), BALLAST)):
      raise ClusterError(f"the disk of {name} was to be full, and is not")

  def free_disk(self, name):
    try:
      os.remove(os.path.join(self.data_dir(name), BALLAST))
    except FileNotFoundError:
      pass

  def give_address_away(self, name):
    """Gives it to another cluster of the same name; the node does not run."""
    other = OtherCluster(f"{self.folder}.other{next(self._other_folders)}",
                         self, name)
    self._others[name] = other
    other.take_address()

  def take_address_back(self, name):
    other = self._others.get(name)
    if other is None:
      return
    try:
      other.check_nothing_came()
    finally:
      other.destroy()
      del self._others[name]

  def stop_log_reader(self, name):
    """The next start of a process logs to a full pipe without a reader."""
    self.around.await_log(name)
    self.around.stop_log_reader(name, self.log_path(name))

  def log_reader_goes_on(self, name):
    """Raises unless lines that were logged meanwhile reach the log."""
    if not self.alive(name):
      return self.around.await_log(name)
    self.kill(name, signal.SIGHUP)
    self.around.log_reader_goes_on(name)
    return wait_until(
        lambda: REREAD in log_since(self.log_path(name), self._logged[name]),
        ENDS_S, f"{name} to say that it has read its flags again")

  # --- Copies of files.

  def copies_dir(self):
    """Folder for files to put back later; it is not on their own disk."""
    folder = f"{self.folder}.copies"
    os.makedirs(folder, exist_ok=True)
    return folder

  def copy_files(self, *names):
    """Those nodes', as they are at one moment; returns where they are."""
    folders = [os.path.join(self.copies_dir(), f"{name}.{next(self._copies)}")
               for name in names]
    for name in names:
      self.pause(name)
    try:
      for name, folder in zip(names, folders):
        media.copy_files(self.data_dir(name), folder)
    finally:
      for name in names:
        self.resume(name)
    return folders

  def put_back(self, name, folder, file):
    """One file of a node that does not run; none if there was none."""
    source = os.path.join(folder, file)
    target = os.path.join(self.data_dir(name), file)
    if os.path.exists(source):
      shutil.copyfile(source, target)
      if not media.same(source, target):
        raise ClusterError(f"{target} was not put back")
    elif os.path.exists(target):
      os.remove(target)

  def drop_copy(self, folder):
    shutil.rmtree(folder, ignore_errors=True)

  def fill_heap(self, megabytes):
    """With objects that do not change, so that there is state to transfer."""
    self.kamino("bench", "put", f"--count={megabytes}", f"--keys={megabytes}",
                "--value_size=1000000", "--outstanding=4", "--timeout=30s")

  def contents(self):
    """All objects, as the tail has them."""
    return self.kamino("scan", "--timeout=10s").stdout
