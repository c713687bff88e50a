"""A network of namespaces: one for each party, joined by a bridge in one more.

Nothing of it touches the machine's own network: addresses exist only in the
namespaces, whose names carry this process's id. Faults are nft rules inside the
namespace of whoever is not to receive.
"""

import os
import shutil
import subprocess
import uuid

HUB = "hub"
SUBNET = "10.77.0"
FOLDER = "/run/netns"


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


class Network:
  """Parties by name; who does not hear whom.

  Made by create(), removed by destroy(), also when creation failed half-way.
  """

  def __init__(self, parties):
    check_possible()
    self._prefix = f"kamino-{os.getpid()}-{uuid.uuid4().hex[:6]}"
    self._hosts = {name: f"{SUBNET}.{i}" for i, name in enumerate(parties, 1)}
    self._hosts[HUB] = f"{SUBNET}.254"
    self._made = []
    self._deaf = {name: set() for name in self._hosts}  # to whom

  def create(self):
    try:
      self._make_namespace(HUB)
      hub = self.namespace(HUB)
      _run("ip", "-n", hub, "link", "add", "br0", "type", "bridge")
      _run("ip", "-n", hub, "addr", "add", f"{self.host(HUB)}/24", "dev",
           "br0")
      _run("ip", "-n", hub, "link", "set", "br0", "up")
      for number, name in enumerate(self._hosts):
        if name != HUB:
          self._join(name, f"p{number}")
    except BaseException:
      self.destroy()
      raise

  def _join(self, name, port):
    self._make_namespace(name)
    space, hub = self.namespace(name), self.namespace(HUB)
    _run("ip", "link", "add", "v0", "netns", space, "type", "veth", "peer",
         "name", port, "netns", hub)
    _run("ip", "-n", hub, "link", "set", port, "master", "br0", "up")
    _run("ip", "-n", space, "addr", "add", f"{self.host(name)}/24", "dev",
         "v0")
    _run("ip", "-n", space, "link", "set", "v0", "up")

  def _make_namespace(self, name):
    _run("ip", "netns", "add", self.namespace(name))
    self._made.append(name)
    _run("ip", "-n", self.namespace(name), "link", "set", "lo", "up")

  def destroy(self):
    """The devices go with the namespaces."""
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

  # --- Faults.

  def cut(self, sources, receivers):
    """From now on no receiver hears any of the sources."""
    for name in receivers:
      self._deaf[name] |= set(sources) - {name}
      self._apply(name)

  def cut_both_ways(self, some, others):
    self.cut(some, others)
    self.cut(others, some)

  def heal(self):
    """Everybody hears everybody."""
    for name, sources in self._deaf.items():
      if sources:
        sources.clear()
        self._apply(name)

  def _apply(self, name):
    rules = cut_ruleset({self.host(s) for s in self._deaf[name]})
    _run(*self.command(name, ["nft", "-f", "-"]), text=rules)
