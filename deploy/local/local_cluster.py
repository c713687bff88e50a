"""A Kamino cluster on this machine: etcd, a manager, nodes.

Everything of it lies in one folder: data, logs, and state.json, which names the
processes. Only processes recorded there (pid and start time) are ever ended.
"""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading

from local_certificates import OPERATOR, ROLES, LocalCertificates
from processes import (ClusterError, client_environment, free_port, listens,
                       patience, start_time, wait_until)

START_TIMEOUT_S = 30.0
STATUS_TIMEOUT_S = 2
COMMAND_TIMEOUT_S = 10  # the default of kamino --timeout
STOP_TIMEOUT_S = 5.0
ATTEMPTS = 3  # a port may be taken between choosing and using it
LOG_TAIL_LINES = 5
SHARED_MEMORY = "/dev/shm"
OTHER_FILES_MB = 256  # etcd's log, processes' logs


def needed_mb(nodes=4, undo_copy="dynamic", heap_mb=128, ring_mb=32):
  """Megabytes of a cluster's files: nodes allocate theirs whole."""
  undo_mb = {"simple": heap_mb, "dynamic": heap_mb // 4,
             "log": ring_mb // 2}[undo_copy]
  return nodes * (heap_mb + ring_mb + undo_mb) + OTHER_FILES_MB


def default_parent(room_mb=None):
  """Memory that plays persistent memory, where there is room enough of it.

  Containers often have a /dev/shm of 64 MiB.
  """
  if room_mb is None:
    room_mb = needed_mb()
  if (os.access(SHARED_MEMORY, os.W_OK) and
      shutil.disk_usage(SHARED_MEMORY).free >= room_mb << 20):
    return SHARED_MEMORY
  return tempfile.gettempdir()


class LocalCluster:
  """One cluster in one folder.

  Where its processes live is for a subclass to say: new_address, command_for.

  Args:
    folder: where it lives; made by start().
    binaries: a Binaries.
    patience: how many times longer than usual things may take.
  """

  # Whether its addresses are others than this machine's own.
  insecure = False
  roles = ROLES  # what the file of --roles has, with certificates

  def __init__(self, folder, binaries, patience=1):
    self.folder = os.path.abspath(folder)
    self.binaries = binaries
    self.state = {}
    self.patience = patience
    self._children = {}  # servers started by this process: pid to Popen
    self._commands = set()  # of kamino() that run now
    self._commands_lock = threading.Lock()
    self._not_formed = ""  # why the chain is not there yet
    if os.path.exists(self._path("state.json")):
      # It says which processes to end: no other user may have written it.
      if os.stat(self.folder).st_uid != os.getuid():
        raise ClusterError(f"{self.folder} belongs to another user")
      with open(self._path("state.json"), encoding="utf-8") as f:
        self.state = json.load(f)

  # --- Life.

  def start(self, nodes=4, transport="tcp", undo_copy="dynamic", heap_mb=128,
            ring_mb=32, failure_timeout_ms=1000, managers=1, leader_ttl_s=2,
            pmem="force", manager_flags=(), node_flags=(), devices=None,
            web=False, tls=False):
    """Starts all of it, or ends what it started and raises.

    Nodes that are named in `devices` keep their data on the device there. With
    `web` all show metrics: state["web"] says where. With `tls` everything goes
    by certificates, and operators have ports of their own: state["admin"].
    """
    devices = devices or {}
    self._check_startable(
        needed_mb(nodes - len(devices), undo_copy, heap_mb, ring_mb))
    self.state = {
        "cluster_id": "local", "processes": {}, "addresses": {},
        "devices": devices,
        "node_args": [
            f"--transport={transport}", f"--undo_copy={undo_copy}",
            f"--heap_mb={heap_mb}", f"--ring_mb={ring_mb}",
            f"--pmem={pmem}", *node_flags],
    }
    if web:
      self.state["web"] = {}
    if tls:
      self.state["admin"] = {}
    self._save()
    try:
      if tls:
        self.certificates.make(self.state["cluster_id"], self.roles)
      self.start_etcd()
      self.start_managers(managers, nodes, failure_timeout_ms, leader_ttl_s,
                          manager_flags)
      for i in range(1, nodes + 1):
        self.start_node(f"n{i}")
      wait_until(lambda: self._ready(nodes), START_TIMEOUT_S * self.patience,
                 lambda: f"the chain to form (logs are in {self.folder}): "
                         f"{self._not_formed}")
      self.state["formed"] = True
      self._save()
    except BaseException:
      self.stop()
      raise

  def _check_startable(self, room_mb):
    if self.state:
      raise ClusterError(
          f"{self.folder} holds a cluster already{self._advice()}")
    for program in ("kamino", "kamino_manager", "kamino_node"):
      self.binary(program)
    if shutil.which("etcd") is None:
      raise ClusterError("etcd is missing; run deploy/install-packages")
    try:
      os.makedirs(self.folder, mode=0o700, exist_ok=True)
      if os.listdir(self.folder):
        raise ClusterError(f"{self.folder} is not empty")
      free_mb = shutil.disk_usage(self.folder).free >> 20
    except OSError as error:
      raise ClusterError(f"{self.folder}: {error.strerror}") from error
    if free_mb < room_mb:
      raise ClusterError(f"{self.folder} has room for {free_mb} MiB, but "
                         f"{room_mb} are needed; choose another --dir, or a "
                         "smaller --heap_mb")

  def _advice(self):
    """What to do about a cluster that exists already."""
    if any(self.alive(name) for name in self.state["processes"]):
      return ", which runs; destroy it first to begin anew"
    if not self.state.get("formed"):
      return " that never came to be; destroy it first"
    return (", which is stopped; restart goes on with it, destroy removes its "
            "data")

  def start_etcd(self, address=None):
    self._start_listening("etcd", self._etcd_command, address)

  def _etcd_command(self, address):
    # One member alone: it has no peers, but needs an address for them.
    scheme = "https" if self.tls else "http"
    peer = f"{scheme}://{self.new_address('etcd')}"
    client = f"{scheme}://{address}"
    secure = self.certificates.flags_of_etcd() if self.tls else []
    return ["etcd", "--name=e", f"--data-dir={self._path('etcd')}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=e={peer}", "--logger=zap", *secure]

  def start_managers(self, count, nodes, failure_timeout_ms, leader_ttl_s,
                     flags):
    self.state["manager_args"] = [
        f"--chain_length={nodes}",
        f"--failure_timeout_ms={failure_timeout_ms}",
        f"--leader_ttl_s={leader_ttl_s}", *flags]
    for i in range(1, count + 1):
      self._start_manager("manager" if i == 1 else f"manager{i}")

  def _start_manager(self, name, address=None):
    self._start_listening(
        name, lambda address: self._manager_command(name, address), address)

  def restart_manager(self, name="manager"):
    """Where it was: the nodes know no other place."""
    self._start_manager(name, self.state["addresses"][name])

  def _manager_command(self, name, address):
    return [self.binary("kamino_manager"),
            f"--cluster_id={self.state['cluster_id']}", f"--listen={address}",
            f"--etcd={self.state['addresses']['etcd']}",
            *self._manager_trust(name), *self.state["manager_args"],
            *self._web_args(name)]

  def _manager_trust(self, name):
    if not self.tls:
      return self.trust()
    admin = self.state["admin"]
    if name not in admin:  # the same each time, as with _web_args
      admin[name] = self.new_address(name)
    return [*self.trust(f"manager/{name}"), f"--admin_listen={admin[name]}",
            *self.certificates.flags_to_etcd(name),
            f"--roles={self.certificates.roles}"]

  def start_node(self, name, address=None):
    self._start_listening(
        name, lambda address: self.node_command(name, address), address)

  def restart(self, name=None):
    """Starts ended processes, or only the named one, at their old addresses."""
    if name is not None and name not in self.state["processes"]:
      raise ClusterError(f"no process is named {name}")
    for each in [name] if name else list(self.state["processes"]):
      if self.alive(each):
        if name:
          raise ClusterError(f"{name} runs already")
      elif each == "etcd":
        self.start_etcd(self.state["addresses"][each])
      elif each in self.managers:
        self.restart_manager(each)
      else:
        self.start_node(each, self.state["addresses"][each])

  def node_command(self, name, address):
    return [self.binary("kamino_node"),
            f"--cluster_id={self.state['cluster_id']}", f"--node_id={name}",
            f"--data_dir={self.data_dir(name)}", f"--listen={address}",
            f"--managers={','.join(self.addresses_of(self.managers))}",
            *self._node_trust(name), *self.state["node_args"],
            *self._device_args(name), *self._web_args(name)]

  def _node_trust(self, name):
    if not self.tls:
      return self.trust()
    return [*self.trust(f"node/{name}"), f"--roles={self.certificates.roles}"]

  def _web_args(self, name):
    """The same address each time, as its readers know no other."""
    web = self.state.get("web")
    if web is None:
      return []
    if name not in web:
      web[name] = self.new_address(name)
    return [f"--web_listen={web[name]}"]

  def _device_args(self, name):
    device = self.state.get("devices", {}).get(name)
    return [] if device is None else [f"--device={device}"]

  def kill(self, name, sig=signal.SIGKILL):
    """Sends a signal; after a deadly one waits for the end of the process."""
    record = self.state.get("processes", {}).get(name)
    if record is None:
      raise ClusterError(f"no process is named {name}")
    if not self.alive(name):
      raise ClusterError(f"{name} does not run")
    os.kill(record["pid"], sig)
    if sig in (signal.SIGKILL, signal.SIGTERM):
      wait_until(lambda: not self.alive(name), STOP_TIMEOUT_S * self.patience,
                 f"{name} to end")

  def stop(self):
    """Ends all processes of this cluster, commands and nodes first."""
    with self._commands_lock:
      for command in self._commands:
        command.kill()
    names = list(self.state.get("processes", {}))
    for name in reversed(names):
      if not self.alive(name):
        continue
      pid = self.state["processes"][name]["pid"]
      os.kill(pid, signal.SIGCONT)
      os.kill(pid, signal.SIGTERM)
      try:
        wait_until(lambda n=name: not self.alive(n),
                   STOP_TIMEOUT_S * self.patience, "")
      except ClusterError:
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda n=name: not self.alive(n),
                   STOP_TIMEOUT_S * self.patience, f"{name} to end")

  def destroy(self):
    self.stop()
    shutil.rmtree(self.folder, ignore_errors=True)
    self.state = {}

  # --- What is.

  @property
  def nodes(self):
    return [n for n in self.state.get("processes", {})
            if n != "etcd" and not n.startswith("manager")]

  @property
  def managers(self):
    return [n for n in self.state.get("processes", {})
            if n.startswith("manager")]

  def addresses_of(self, names):
    return [self.state["addresses"][n] for n in names]

  @property
  def seeds(self):
    return ",".join(self.addresses_of(self.nodes))

  @property
  def operators_addresses(self):
    """Where `kamino admin` finds the managers."""
    admin = self.state.get("admin")
    return (self.addresses_of(self.managers) if admin is None else
            [admin[name] for name in self.managers])

  @property
  def tls(self):
    return self.state.get("admin") is not None

  @property
  def certificates(self):
    return LocalCertificates(self._path("certificates"), self.binary("kamino"))

  def binary(self, name):
    path = self.binaries.path(name)
    if path is None:
      raise ClusterError(
          f"{name} is not in {self.binaries.root}; run make build")
    return path

  def data_dir(self, name):
    return self._path(name)

  def log_path(self, name):
    return self._path(f"{name}.log")

  def log_tail(self, name, lines=LOG_TAIL_LINES):
    try:
      with open(self.log_path(name), encoding="utf-8", errors="replace") as f:
        return "".join(f.readlines()[-lines:])
    except OSError:
      return ""

  def alive(self, name):
    self._reap()
    record = self.state["processes"].get(name)
    if record is None or record["start_time"] is None:  # ended at once
      return False
    return start_time(record["pid"]) == record["start_time"]

  def kamino(self, *words, check=True, timeout=60, seeds=None, started=None):
    """Runs the command line; returns the finished process.

    `started`: called with the running process.
    """
    arguments = self.command_for("kamino", [
        self.binary("kamino"), f"--seeds={seeds or self.seeds}", *self.trust(),
        *self._longer_timeout(words), *words])
    with subprocess.Popen(arguments, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=client_environment(), text=True) as process:
      with self._commands_lock:
        self._commands.add(process)
      if started is not None:
        started(process)
      try:
        timeout = patience(timeout * self.patience)
        output, errors = process.communicate(timeout=timeout)
      except subprocess.TimeoutExpired as error:
        self.look_at_stuck(process.pid)
        raise ClusterError(
            f"kamino {words[0]} did not end within {timeout:g} s") from error
      finally:
        process.kill()  # nothing once it has ended
        with self._commands_lock:
          self._commands.discard(process)
    if check and process.returncode != 0:
      raise ClusterError(f"kamino {' '.join(words)}: exit "
                         f"{process.returncode}: {errors.strip()}")
    return subprocess.CompletedProcess(arguments, process.returncode, output,
                                       errors)

  def look_at_stuck(self, pid):
    """Called before a command that has not ended in time is killed."""

  def chain(self):
    """Names of the chain's nodes, head first, and the view id."""
    done = self.kamino("status", "--json", self._status_timeout())
    view = json.loads(done.stdout.splitlines()[0])
    return [n["node_id"] for n in view["nodes"]], int(view["view_id"])

  def await_chain(self, names, timeout=15.0):
    """Waits until the chain consists of these nodes, in any order."""
    def formed():
      try:
        return sorted(self.chain()[0]) == sorted(names)
      except ClusterError:
        return False
    wait_until(formed, timeout * self.patience,
               f"the chain to be {', '.join(names)}")

  # --- Where its processes live.

  def new_address(self, name):  # pylint: disable=unused-argument
    """host:port for a process to listen on."""
    return f"127.0.0.1:{free_port()}"

  def command_for(self, name, arguments):  # pylint: disable=unused-argument
    """The command that runs `arguments`, without a process between."""
    return arguments

  def trust(self, who=OPERATOR):
    """Flags with the credentials of `who`, by default of the command line."""
    if self.tls:
      return self.certificates.flags(who)
    return ["--insecure"] if self.insecure else []

  def environment(self):
    """Variables that make the command line find and trust this cluster."""
    secure = self.certificates.environment(OPERATOR) if self.tls else {}
    return {"KAMINO_SEEDS": self.seeds,
            "KAMINO_MANAGERS": ",".join(self.operators_addresses), **secure}

  # --- Inside.

  def _path(self, name):
    return os.path.join(self.folder, name)

  def _save(self):
    temporary = self._path("state.json.new")
    with open(temporary, "w", encoding="utf-8") as f:
      json.dump(self.state, f, indent=2)
    os.rename(temporary, self._path("state.json"))

  def _reap(self):
    """Collects children of this process that have ended."""
    self._children = {pid: child for pid, child in self._children.items()
                      if child.poll() is None}

  def _start_listening(self, name, arguments, address=None):
    """Starts a server on a free port, on another one if that was taken."""
    for attempt in range(1, ATTEMPTS + 1):
      self._launch(name, arguments, address)
      if self._listens(name):
        return
      if "in use" not in self.log_tail(name) or attempt == ATTEMPTS:
        raise ClusterError(
            f"{name} did not start: {self.log_tail(name).strip()}")
      for also in ("web", "admin"):  # it may have been that port
        (self.state.get(also) or {}).pop(name, None)

  def _launch(self, name, arguments, address=None):
    address = address or self.new_address(name)
    with self._open_log(name) as log:
      # A session of its own: Ctrl-C is for the caller, which stops us.
      process = subprocess.Popen(
          self.command_for(name, arguments(address)), stdout=log, stderr=log,
          stdin=subprocess.DEVNULL, start_new_session=True)
    self._children[process.pid] = process
    self.state["processes"][name] = {
        "pid": process.pid, "start_time": start_time(process.pid)}
    self.state["addresses"][name] = address
    self._save()

  def _open_log(self, name):
    """The log as a process's stdout and stderr; the caller closes it."""
    return open(self.log_path(name), "a", encoding="utf-8")

  def _listens(self, name):
    """True once it has its port; False when the process has ended."""
    pid = self.state["processes"][name]["pid"]
    port = int(self.state["addresses"][name].rsplit(":", 1)[1])
    def settled():
      if not self.alive(name):
        return "ended"
      return "up" if listens(pid, port) else None
    return wait_until(settled, START_TIMEOUT_S * self.patience,
                      f"{name} to listen") == "up"

  def _ready(self, nodes):
    for name in self.state["processes"]:
      if not self.alive(name):
        raise ClusterError(
            f"{name} did not start: {self.log_tail(name).strip()}")
    try:
      there = len(self.chain()[0])
      if there == nodes:
        self.kamino("scan", "--limit=1", self._status_timeout())
        return True
      self._not_formed = f"it has {there} of {nodes} nodes"
    except ClusterError as error:
      self._not_formed = str(error)
    return False

  def _longer_timeout(self, words):
    """A slow machine needs more than the default of a command."""
    seconds = patience(COMMAND_TIMEOUT_S * self.patience)
    given = any(word.startswith("--timeout") for word in words)
    usual = given or seconds <= COMMAND_TIMEOUT_S
    return [] if usual else [f"--timeout={seconds:g}s"]

  def _status_timeout(self):
    return f"--timeout={patience(STATUS_TIMEOUT_S * self.patience):g}s"
