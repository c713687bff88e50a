"""A network of namespaces: one for each party, joined by a bridge in one more.

Nothing of it touches the machine's own network: addresses exist only in the
namespaces, whose names carry this process's id. Faults are nft rules inside the
receiver's namespace. After each change, datagrams test the effect of the rules.
"""

import ctypes
import dataclasses
import itertools
import os
import select
import shutil
import socket
import subprocess
import time
import uuid

HUB = "hub"
SUBNET = "10.77.0"
FOLDER = "/run/netns"
PROBE_PORT = 7
ARRIVES_S = 5.0  # a datagram; it takes microseconds on a machine that is idle
CLONE_NEWNET = 0x40000000


class NetworkError(Exception):
  """Something the user has to know; one line."""


def check_possible():
  """Raises with what is missing, so that a test can say so."""
  if os.geteuid() != 0:
    raise NetworkError("network namespaces need root; run as root")
  for program in ("ip", "nft", "nsenter"):
    if shutil.which(program, path=_path()) is None:
      raise NetworkError(f"{program} is missing; run deploy/install-packages")


def _path():
  return os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


def _run(*words, text=None):
  done = subprocess.run(words, input=text, stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT, text=True, check=False,
                        env={**os.environ, "PATH": _path()})
  if done.returncode != 0:
    raise NetworkError(f"{' '.join(words)}: {done.stdout.strip()}")
  return done.stdout


def cut_ruleset(sources):
  """The rules of one party that receives nothing from `sources`."""
  lines = ["add table inet chaos", "delete table inet chaos"]
  if sources:
    lines += ["add table inet chaos",
              "add chain inet chaos cut "
              "{ type filter hook input priority 0 ; }",
              "add rule inet chaos cut ip saddr "
              f"{{ {', '.join(sorted(sources))} }} drop"]
  return "\n".join(lines) + "\n"


@dataclasses.dataclass(frozen=True)
class Cut:
  """Receivers that do not hear the sources; one of several at a time."""
  number: int
  sources: frozenset
  receivers: frozenset


def _socket_in(path, kind):
  """One that lives in a namespace; this thread stays here."""
  libc = ctypes.CDLL(None, use_errno=True)
  with open("/proc/thread-self/ns/net", "rb") as home, open(path,
                                                            "rb") as there:
    if libc.setns(there.fileno(), CLONE_NEWNET) != 0:
      raise NetworkError(f"setns {path}: {os.strerror(ctypes.get_errno())}")
    try:
      return socket.socket(socket.AF_INET, kind | socket.SOCK_NONBLOCK)
    finally:
      if libc.setns(home.fileno(), CLONE_NEWNET) != 0:
        os.abort()  # what follows would happen elsewhere


def cannot_cut():
  """Why rules cannot be made here; "" if they can."""
  network = Network(["probe"])
  try:
    network.make_namespace("probe")
    network.apply("probe", {SUBNET + ".1"})
    return ""
  except NetworkError as error:
    return f"no nft: {error}"
  finally:
    network.destroy()


class Network:
  """Parties by name, and the cuts between them.

  Made by create(), removed by destroy(), also when creation failed half-way.
  """

  def __init__(self, parties):
    check_possible()
    self._prefix = f"kamino-{os.getpid()}-{uuid.uuid4().hex[:6]}"
    self._hosts = {name: f"{SUBNET}.{i}" for i, name in enumerate(parties, 1)}
    self._hosts[HUB] = f"{SUBNET}.254"
    self._made = []
    self._cuts = []
    self._numbers = itertools.count(1)
    self._probes = {}  # party to its socket
    self._said = itertools.count(1)

  def create(self):
    try:
      self.make_namespace(HUB)
      hub = self.namespace(HUB)
      _run("ip", "-n", hub, "link", "add", "br0", "type", "bridge")
      _run("ip", "-n", hub, "addr", "add", f"{self.host(HUB)}/24", "dev",
           "br0")
      _run("ip", "-n", hub, "link", "set", "br0", "up")
      for number, name in enumerate(self._hosts):
        if name != HUB:
          self._join(name, f"p{number}")
      for name in self._hosts:
        self._probes[name] = self.socket(name, socket.SOCK_DGRAM, PROBE_PORT)
      self.check()
    except BaseException:
      self.destroy()
      raise

  def _join(self, name, port):
    self.make_namespace(name)
    space, hub = self.namespace(name), self.namespace(HUB)
    _run("ip", "link", "add", "v0", "netns", space, "type", "veth", "peer",
         "name", port, "netns", hub)
    _run("ip", "-n", hub, "link", "set", port, "master", "br0", "up")
    _run("ip", "-n", space, "addr", "add", f"{self.host(name)}/24", "dev",
         "v0")
    _run("ip", "-n", space, "link", "set", "v0", "up")

  def make_namespace(self, name):
    _run("ip", "netns", "add", self.namespace(name))
    self._made.append(name)
    _run("ip", "-n", self.namespace(name), "link", "set", "lo", "up")

  def destroy(self):
    """The devices go with the namespaces."""
    for probe in self._probes.values():
      probe.close()
    self._probes = {}
    for name in reversed(self._made):
      subprocess.run(["ip", "netns", "del", self.namespace(name)],
                     stderr=subprocess.DEVNULL, check=False,
                     env={**os.environ, "PATH": _path()})
    self._made = []

  def namespace(self, name):
    return f"{self._prefix}-{name}"

  def host(self, name):
    return self._hosts[name]

  def command(self, name, arguments):
    """Runs in the party's namespace, as the same process."""
    return [shutil.which("nsenter", path=_path()),
            f"--net={FOLDER}/{self.namespace(name)}", *arguments]

  def socket(self, name, kind, port=0):
    """One of this process at the party's address; it does not block."""
    made = _socket_in(f"{FOLDER}/{self.namespace(name)}", kind)
    try:
      made.bind((self.host(name), port))
    except OSError as error:
      made.close()
      raise NetworkError(
          f"{self.host(name)}:{port}: {error.strerror}") from error
    return made

  # --- Faults.

  def cut(self, sources, receivers):
    """From now on no receiver hears any of the sources."""
    cut = Cut(next(self._numbers), frozenset(sources), frozenset(receivers))
    self._cuts.append(cut)
    self._apply_for(cut)
    return cut

  def cut_both_ways(self, some, others):
    return [self.cut(some, others), self.cut(others, some)]

  def heal(self, cut=None):
    """Ends that cut, or all of them."""
    over = [c for c in self._cuts if cut in (None, c)]
    self._cuts = [c for c in self._cuts if c not in over]
    for each in over:
      self._apply_for(each)

  def deaf(self, name):
    """Whom it does not hear."""
    return {source for cut in self._cuts if name in cut.receivers
            for source in cut.sources} - {name}

  def _apply_for(self, cut):
    for name in cut.receivers:
      self.apply(name, {self.host(s) for s in self.deaf(name)})
    self.check(cut.receivers)

  def apply(self, name, hosts):
    _run(*self.command(name, ["nft", "-f", "-"]), text=cut_ruleset(hosts))

  # --- Whether they have the effect.

  def check(self, receivers=None):
    """Raises unless each hears the hosts that it is to hear, and no others."""
    for receiver in sorted(receivers or self._hosts):
      others = set(self._hosts) - {receiver}
      heard = self.heard(receiver, others)
      expected = others - self.deaf(receiver)
      if heard != expected:
        raise NetworkError(
            f"{receiver} was to hear {' '.join(sorted(expected))}, and hears "
            f"{' '.join(sorted(heard)) or 'nobody'}")

  def heard(self, receiver, sources):
    """The sources whose datagrams arrive.

    Sources that are to be heard send last: once their datagrams are there,
    those of the others would be.
    """
    probe, word = self._probes[receiver], str(next(self._said)).encode()
    names = {self.host(name): name for name in sources}
    expected = set(sources) - self.deaf(receiver)
    for name in sorted(sources, key=lambda n: n in expected):
      self._probes[name].sendto(word, (self.host(receiver), PROBE_PORT))
    heard, deadline = set(), time.monotonic() + ARRIVES_S
    while not heard >= expected and time.monotonic() < deadline:
      if select.select([probe], [], [], deadline - time.monotonic())[0]:
        said, (host, _) = probe.recvfrom(64)
        if said == word and host in names:
          heard.add(names[host])
    return heard
