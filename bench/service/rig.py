"""The servers of a race: Kamino chains, Redis with its replicas, etcd.

All is on loopback, on free ports; data and logs are in one folder in memory,
which is removed at the end. Only processes that were started here are ended.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.realpath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "deploy", "local"))
# pylint: disable=wrong-import-position
from local_cluster import LocalCluster, needed_mb
from processes import ClusterError, free_port, listens, wait_until

SHARED_MEMORY = "/dev/shm"
START_S = 30.0
STOP_S = 10.0
# The chain is not to lose a node because the machine is busy.
FAILURE_TIMEOUT_MS = 5000
RIVAL_MB = 3072  # room for each rival's data, logs and what they keep of old
REPLICAS = 2
ETCD_MEMBERS = 3

KAMINO = re.compile(r"kamino-(?P<links>tcp|shm|verbs|auto)(-(?P<mode>images))?"
                    r"(-(?P<nodes>\d+))?(@(?P<carrier>[a-z+]+))?")
# The nodes of a chain beyond the failures that it survives, by chain mode.
SPARE = {"kamino": 2, "images": 1}
RIVALS = ("redis", "redis-aof", "etcd")


def check_subject(word):
  """None, or what is wrong with it."""
  if word in RIVALS:
    return None
  parts = KAMINO.fullmatch(word)
  if parts is None:
    return (f"'{word}' is none of {', '.join(RIVALS)}, "
            "kamino-LINKS[-images][-NODES][@CARRIER]")
  nodes = parts["nodes"]
  if nodes is not None and not 2 <= int(nodes) <= 16:
    return f"'{word}': a chain has 2 to 16 nodes"
  return None


class Server:
  """One process with its log."""

  def __init__(self, folder, name, command, port):
    self.name, self.port = name, port
    self._log = os.path.join(folder, f"{name}.log")
    with open(self._log, "a", encoding="utf-8") as log:
      # A session of its own: Ctrl-C is for the caller, which stops this
      # program.
      self._process = subprocess.Popen(
          command, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
          start_new_session=True)

  @property
  def pid(self):
    return self._process.pid

  def await_port(self):
    def settled():
      if self._process.poll() is not None:
        return "ended"
      return "up" if listens(self.pid, self.port) else None
    if wait_until(settled, START_S, f"{self.name} to listen") == "ended":
      raise ClusterError(f"{self.name} did not start: {self.log_tail()}")

  def log_tail(self):
    with open(self._log, encoding="utf-8", errors="replace") as log:
      return "".join(log.readlines()[-5:]).strip()

  def stop(self):
    if self._process.poll() is not None:
      return
    self._process.send_signal(signal.SIGTERM)
    try:
      self._process.wait(STOP_S)
    except subprocess.TimeoutExpired:
      self._process.kill()
      self._process.wait()


class Redis:
  """A master and its replicas."""

  def __init__(self, folder, aof):
    self.aof = aof
    self.servers = []
    self._folder = folder
    self.program = program("redis-server")

  def start(self):
    master = None
    for i in range(1 + REPLICAS):
      role = "master" if i == 0 else f"replica{i}"
      folder = os.path.join(self._folder, role)
      os.makedirs(folder)
      port = free_port()
      server = Server(folder, role, self.command(folder, port, master), port)
      self.servers.append(server)
      server.await_port()
      master = master or server
    wait_until(self.in_step, START_S, "Redis' replicas")

  def command(self, folder, port, master):
    command = [
        self.program, "--port", str(port), "--bind", "127.0.0.1",
        "--dir", folder, "--save", "",
        # Replicas are never thrown out for being slow, nor copied anew.
        "--client-output-buffer-limit", "replica", "0", "0", "0",
        "--repl-backlog-size", "64mb", "--repl-diskless-sync-delay", "0",
        "--appendonly", "yes" if self.aof else "no",
        "--appendfsync", "always",
        # Not every 64 MiB, where a rewrite would be most of what is measured.
        "--auto-aof-rewrite-min-size", "1gb"]
    if master is not None:
      command += ["--replicaof", "127.0.0.1", str(master.port)]
    return command

  def in_step(self):
    told = self.info("replication")
    return len(re.findall(r"^slave\d+:.*state=online", told, re.M)) == REPLICAS

  def info(self, section):
    with socket.create_connection(
        ("127.0.0.1", self.servers[0].port), timeout=START_S) as connection:
      connection.sendall(f"INFO {section}\r\n".encode())
      answer = connection.makefile("rb")
      head = answer.readline()
      if not head.startswith(b"$"):
        raise ClusterError(f"Redis: {head.decode(errors='replace').strip()}")
      return answer.read(int(head[1:])).decode(errors="replace")

  def spec(self, name, connections):
    writing, reading = connections
    durable = ("in the append-only files of 3, each synced (tmpfs)"
               if self.aof else "in the memory of 3, in no file")
    return spec(
        name, "redis", [f"127.0.0.1:{self.servers[0].port}"],
        [(s.name, s.pid) for s in self.servers],
        f"Redis {version(self.program)}, master and {REPLICAS} replicas "
        f"(f = {REPLICAS}), SET and WAIT {REPLICAS}: {durable} - reads: the "
        f"master, without WAIT - {writing} connections for writes, {reading} "
        "for reads",
        writing=writing, reading=reading, replicas=REPLICAS)

  def disturbed(self):
    if not self.in_step():
      return "Redis has lost a replica"
    syncs = re.search(r"^sync_full:(\d+)", self.info("stats"), re.M)
    if syncs is None or int(syncs[1]) != REPLICAS:
      return "a replica of Redis was copied anew"
    return None

  def stop(self):
    for server in reversed(self.servers):
      server.stop()


class Etcd:
  """A cluster of etcd's."""

  def __init__(self, folder):
    self.servers = []
    self._folder = folder
    self.program = program("etcd")
    self.control = program("etcdctl")
    self._leader = None

  def start(self):
    ports = [(free_port(), free_port()) for _ in range(ETCD_MEMBERS)]
    peers = ",".join(f"e{i}=http://127.0.0.1:{peer}"
                     for i, (_, peer) in enumerate(ports))
    for i, (port, peer) in enumerate(ports):
      client, own = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peer}"
      self.servers.append(Server(self._folder, f"e{i}", [
          self.program, f"--name=e{i}",
          f"--data-dir={os.path.join(self._folder, f'e{i}')}",
          f"--listen-client-urls={client}",
          f"--advertise-client-urls={client}", f"--listen-peer-urls={own}",
          f"--initial-advertise-peer-urls={own}",
          f"--initial-cluster={peers}", "--logger=zap", "--log-level=warn",
          # It is not to elect anew because the machine is busy.
          "--election-timeout=2000",
          f"--quota-backend-bytes={8 << 30}"], port))
    for server in self.servers:
      server.await_port()
    self._leader = wait_until(self.leader, START_S, "etcd to have a leader")

  def leader(self):
    """The server that leads; None: none does."""
    endpoints = ",".join(f"127.0.0.1:{s.port}" for s in self.servers)
    done = subprocess.run(
        [self.control, f"--endpoints={endpoints}", "endpoint", "status",
         "--write-out=json"], env={**os.environ, "ETCDCTL_API": "3"},
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        check=False)
    try:
      states = [member["Status"] for member in json.loads(done.stdout)]
    except (ValueError, KeyError):
      return None
    if len(states) != ETCD_MEMBERS:
      return None
    for server, state in zip(self.servers, states):
      if state["header"]["member_id"] == state.get("leader"):
        return server
    return None

  def spec(self, name, connections):
    # By the leader: a follower would only pass it on.
    ordered = [self._leader] + [s for s in self.servers
                                if s is not self._leader]
    return spec(
        name, "etcd", [f"127.0.0.1:{ordered[0].port}"],
        [("leader" if i == 0 else f"follower{i}", s.pid)
         for i, s in enumerate(ordered)],
        f"etcd {version(self.program)}, {ETCD_MEMBERS} members "
        f"(f = {(ETCD_MEMBERS - 1) // 2}): in the logs of 2 of them at least, "
        "each synced (tmpfs) - reads: linearizable - connections to the "
        f"leader: {connections} - compacted between turns",
        connections=connections)

  def disturbed(self):
    return (None if self.leader() is self._leader
            else "etcd has elected another leader")

  def stop(self):
    for server in reversed(self.servers):
      server.stop()


class Chain:
  """A Kamino cluster."""

  def __init__(self, folder, binaries, links, nodes, heap_mb, undo_copy,
               node_flags=(), mode="kamino"):
    self.links, self.nodes, self.mode = links, nodes, mode
    if mode != "kamino":
      node_flags = [*node_flags, f"--chain_mode={mode}"]
    self.cluster = LocalCluster(folder, binaries)
    self._settings = {"heap_mb": heap_mb, "undo_copy": undo_copy,
                      "node_flags": node_flags}
    self._formed = None

  def start(self):
    self.cluster.start(
        nodes=self.nodes, transport=self.links,
        failure_timeout_ms=FAILURE_TIMEOUT_MS, **self._settings)
    self._formed = self.cluster.chain()

  @property
  def names(self):
    """Names of the chain's nodes, head first."""
    return self._formed[0]

  def about(self):
    return (f"Kamino, chain mode {self.mode}, {self.nodes} nodes "
            f"(f = {self.nodes - SPARE[self.mode]})")

  def spec(self, name, carrier):
    names = self.names
    roles = ["head", *(f"middle{i}" for i in range(1, len(names) - 1)), "tail"]
    processes = [(role, self.pid(node)) for role, node in zip(roles, names)]
    processes += [(other, self.pid(other)) for other in ("manager", "etcd")]
    return spec(
        name, "kamino", self.cluster.addresses_of(names), processes,
        f"{self.about()}, links over {self.links}, calls over "
        f"{carrier or 'the best carrier'}: in the persistent regions of all "
        f"{self.nodes} (tmpfs) - reads: linearizable - the SDK as it is",
        carrier=carrier)

  def pid(self, name):
    return self.cluster.state["processes"][name]["pid"]

  def disturbed(self):
    now = self.cluster.chain()
    if now == self._formed:
      return None
    return (f"the chain over {self.links} has changed, from view "
            f"{self._formed[1]} to {now[1]}")

  def stop(self):
    self.cluster.destroy()


def program(name):
  path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin")
  if path is None:
    raise ClusterError(f"{name} is missing; run deploy/install-packages")
  return path


def version(path):
  """The first number with dots that it says of itself."""
  done = subprocess.run([path, "--version"], stdout=subprocess.PIPE, text=True,
                        check=False)
  found = re.search(r"\d+\.\d+(\.\d+)?", done.stdout)
  return found[0] if found else "?"


def spec(name, kind, addresses, processes, about, **others):
  """The subject's spec for bench_service."""
  settings = {
      "name": name, "kind": kind, "at": ",".join(addresses),
      "processes": ",".join(f"{role}:{pid}" for role, pid in processes),
      **others, "about": about}
  return ";".join(f"{key}={value}" for key, value in settings.items())


class Servers:
  """Use with `with`: what a subclass starts runs inside it.

  Args:
    words: which subjects.
    name: of the bench, in its folder's name.
  """

  def __init__(self, words, name):
    self._words = words
    self._servers = {}  # by what tells them apart
    self.specs = []
    self.folder = tempfile.mkdtemp(prefix=f"kamino-{name}-", dir=SHARED_MEMORY)

  def __enter__(self):
    try:
      self._check_room()
      for word in self._words:
        self.specs.append(self._start(word))
    except BaseException:
      self.__exit__()
      raise
    return self

  def needed_mb(self):
    """Megabytes of SHARED_MEMORY that all servers need."""
    raise NotImplementedError

  def _start(self, word):
    """Starts a subject; returns its spec for bench_service."""
    raise NotImplementedError

  def __exit__(self, *unused):
    for servers in reversed(list(self._servers.values())):
      servers.stop()
    shutil.rmtree(self.folder, ignore_errors=True)

  def disturbed(self):
    """Disturbances of the servers meanwhile, a line for each."""
    return [why for why in (s.disturbed() for s in self._servers.values())
            if why is not None]

  def _once(self, key, make):
    """Several subjects may be ways to the same servers."""
    if key not in self._servers:
      folder = os.path.join(self.folder, key)
      os.makedirs(folder)
      servers = make(folder)
      self._servers[key] = servers
      servers.start()
    return self._servers[key]

  def _check_room(self):
    wanted = self.needed_mb()
    free = shutil.disk_usage(SHARED_MEMORY).free >> 20
    if free < wanted:
      raise ClusterError(
          f"{SHARED_MEMORY} has room for {free} MiB, but {wanted} are needed; "
          "take fewer --subjects, or a smaller --heap_mb")


class Rig(Servers):
  """Kamino chains beside their rivals.

  Args:
    words: which subjects; check_subject has nothing against them.
    settings: nodes, heap_mb, undo_copy, redis_connections,
      etcd_connections.
    binaries: a Binaries.
  """

  def __init__(self, words, settings, binaries):
    super().__init__(words, "service")
    self._settings = settings
    self._binaries = binaries

  def _start(self, word):
    if word == "etcd":
      return self._once(word, Etcd).spec(
          word, self._settings.etcd_connections)
    if word in RIVALS:
      redis = self._once(word, lambda folder: Redis(folder,
                                                    word == "redis-aof"))
      return redis.spec(word, self._settings.redis_connections)
    links, mode, nodes = self._chain_of(word)
    chain = self._once(
        f"{links}-{mode}-{nodes}", lambda folder: Chain(
            os.path.join(folder, "c"), self._binaries, links, nodes,
            self._settings.heap_mb, self._settings.undo_copy, mode=mode))
    return chain.spec(word, KAMINO.fullmatch(word)["carrier"] or "")

  def _chain_of(self, word):
    """Its links, mode and number of nodes.

    By default a chain in another mode survives as many failures as one of
    --nodes in mode kamino.
    """
    parts = KAMINO.fullmatch(word)
    mode = parts["mode"] or "kamino"
    nodes = self._settings.nodes - SPARE["kamino"] + SPARE[mode]
    return parts["links"], mode, int(parts["nodes"] or max(nodes, 2))

  def needed_mb(self):
    chains = {self._chain_of(word) for word in self._words
              if word not in RIVALS}
    wanted = sum(needed_mb(nodes, self._settings.undo_copy,
                           self._settings.heap_mb) for _, _, nodes in chains)
    return wanted + RIVAL_MB * sum(word in RIVALS for word in self._words)


__all__ = ["Chain", "ClusterError", "Rig", "Servers", "check_subject",
           "needed_mb"]
