"""The surroundings of a cluster's processes: host names and a name server, a
proxy, environment variables, pipes for logs, slow disks."""

import os
import select
import shlex
import shutil
import socket
import time

from log_pipe import LogPipe
from name_server import PORT, NameServer, question
from network import HUB
from processes import ClusterError, wait_until
from proxy_listener import ProxyListener
from slow_disk import SlowDisk

DOMAIN = "kamino.test"
HOSTS, RESOLVER, SWITCH = "/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf"
PROXY_PORT = 3128
COMES_S = 20.0  # a query of a process that has been started


class Surroundings:
  """Surroundings of a ChaosCluster.

  Processes of parties look names up at a name server in the hub, which the
  tester runs. Commands of the tester run in the hub and read names from a file.

  Args:
    network: a Network; created before start().
    folder: for files; made by start(), removed by close().
    parties: the parties that have names.
  """

  def __init__(self, network, folder, parties):
    self._network = network
    self._folder = folder
    self._hosts = {self.name_of(p): network.host(p) for p in parties}
    self._party_files = {}  # path to the file that is mounted over it
    self._hub_files = {}
    self._environments = {}  # process to variables for its next start
    self._piped = set()  # processes whose next start gets a pipe as the log
    self._pipes = {}  # process to the LogPipe of its last such start
    self._disks = {}  # process to SlowDisk
    self._probe = None  # a socket with a query that is not answered yet
    self._hangs = False
    self.names = None  # a NameServer
    self.proxy = None  # a ProxyListener

  def start(self):
    os.makedirs(self._folder, exist_ok=True)
    hub = self._network.host(HUB)
    self._party_files = {
        RESOLVER: self._file("party.resolv.conf", f"nameserver {hub}\n"),
        SWITCH: self._file("party.nsswitch.conf", "hosts: files dns\n")}
    names = "".join(f"{host} {name}\n" for name, host in self._hosts.items())
    self._hub_files = {
        HOSTS: self._file("hub.hosts", f"127.0.0.1 localhost\n{names}"),
        # Nothing listens there: a lookup of an unknown name fails at once.
        RESOLVER: self._file("hub.resolv.conf", "nameserver 127.0.0.1\n"),
        SWITCH: self._file("hub.nsswitch.conf", "hosts: files\n")}
    for path in (HOSTS, RESOLVER, SWITCH):
      if not os.path.exists(path):
        raise ClusterError(f"{path} is missing, and the tester mounts a file "
                           "over it for its processes; create an empty one")
    self.names = NameServer(
        self._network.socket(HUB, socket.SOCK_DGRAM, PORT), self._hosts)
    self.proxy = ProxyListener(
        self._network.socket(HUB, socket.SOCK_STREAM, PROXY_PORT))

  def close(self):
    """Call once all processes have ended."""
    if self._probe is not None:
      self._probe.close()
    for pipe in self._pipes.values():
      pipe.read_on()
    for server in (self.names, self.proxy):
      if server is not None:
        server.close()
    self.names = self.proxy = self._probe = None
    shutil.rmtree(self._folder, ignore_errors=True)

  def _file(self, name, text):
    path = os.path.join(self._folder, name)
    with open(path, "w", encoding="utf-8") as f:
      f.write(text)
    return path

  # --- How processes are started.

  @staticmethod
  def name_of(party):
    return f"{party}.{DOMAIN}"

  def command(self, party, arguments):
    """The command that runs `arguments` in the party's namespace, with the
    tester's files mounted over the machine's, as the same process."""
    files = self._hub_files if party == HUB else self._party_files
    mounts = "".join(f"mount --bind {shlex.quote(ours)} {path} && "
                     for path, ours in files.items())
    return self._network.command(party, [
        "unshare", "--mount", "--propagation", "slave", "sh", "-c",
        mounts + 'exec "$@"', "sh", *arguments])

  def environment(self, name):
    """Variables that the next start of a process adds to the tester's own."""
    return self._environments.get(name, {})

  def log_of(self, name):
    """The write end of the pipe that the next start of a process logs to; None:
    it logs to its file."""
    if name not in self._piped:
      return None
    self._piped.discard(name)
    return self._pipes[name].write_end

  # --- Names.

  def _ask(self):
    """Sends a query; returns its socket."""
    probe = self._network.socket(HUB, socket.SOCK_DGRAM)
    probe.sendto(question(next(iter(self._hosts)), 1),
                 (self._network.host(HUB), PORT))
    return probe

  def hang_names(self):
    self._hangs = True
    self.names.hang()
    self._probe = self._ask()
    wait_until(lambda: self.names.asked(self._network.host(HUB)), COMES_S,
               "a query to come to the name server")

  def slow_names(self, delay_s):
    self.names.slow(delay_s)
    began = time.monotonic()
    with self._ask() as probe:
      if not select.select([probe], [], [], COMES_S)[0]:
        raise ClusterError("a slow name server was to answer, and does not")
    took_s = time.monotonic() - began
    if took_s < delay_s:
      raise ClusterError(f"the name server was to answer after {delay_s} s, "
                         f"and did after {took_s:.3f} s")

  def await_query(self, *parties):
    """Waits until one of these has sent a query since the fault began."""
    wait_until(lambda: self.have_asked(*parties), COMES_S,
               f"a query of {' or '.join(parties)} to the name server")

  def have_asked(self, *parties):
    return self.names.asked(*map(self._network.host, parties)) > 0

  def await_answer(self, *parties):
    hosts = [self._network.host(p) for p in parties]
    wait_until(lambda: self.names.answered(*hosts), COMES_S,
               f"an answer of the name server to {' or '.join(parties)}")

  def names_go_on(self):
    """Ends the fault. Raises if no process sent a query during it, or if a
    server that was to hang has answered."""
    hosts = list(self._hosts.values())
    asked, answered = self.names.asked(*hosts), self.names.answered(*hosts)
    hung, self._hangs = self._hangs, False
    early = hung and (answered or select.select([self._probe], [], [], 0)[0])
    self.names.go_on()
    if hung:
      with self._probe:
        comes = select.select([self._probe], [], [], COMES_S)[0]
      self._probe = None
      if not comes:
        raise ClusterError("the name server was to go on, and does not answer")
    if not asked:
      raise ClusterError("no process has asked the name server meanwhile")
    if early:
      raise ClusterError("the name server was to hang, and has answered")

  # --- Proxies.

  def name_proxy(self, name):
    """The next start of the process has the proxy in its environment."""
    self._environments[name] = self.proxy.environment()

  def check_no_proxy_used(self, *names):
    """Raises if a connection came to the proxy. Later starts have no proxy in
    their environment."""
    for name in names:
      self._environments.pop(name, None)
      self.proxy.check_unused(
          self._network.socket(name, socket.SOCK_STREAM))

  # --- Logs.

  def stop_log_reader(self, name, path):
    """The next start of the process logs to a full pipe without a reader."""
    self._pipes[name] = LogPipe(path)
    self._pipes[name].fill()
    self._piped.add(name)

  def log_reader_goes_on(self, name):
    """Raises if the pipe was read before."""
    try:
      self._pipes[name].check_full()
    finally:
      self._pipes[name].read_on()

  def await_log(self, name):
    """Waits until all that an ended process wrote is in its log."""
    pipe = self._pipes.pop(name, None)
    if pipe is not None:
      pipe.end()

  # --- Disks.

  def slow_disk(self, name, delay_s):
    """From the next start of the process on, each sync takes `delay_s` more."""
    if name not in self._disks:
      self._disks[name] = SlowDisk(os.path.join(self._folder, f"disk.{name}"))
    disk = self._disks[name]
    disk.delay(delay_s)
    self._environments[name] = disk.environment()
    return disk

  def fast_disk(self, name):
    self._disks[name].delay(0)
    self._environments.pop(name, None)
