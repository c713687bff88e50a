"""etcd's contents: copied, put back, emptied, filled up; by etcdctl, as an
operator would (docs/operate/operations.md)."""

import json
import os
import shutil
import subprocess

from processes import ClusterError

ETCDCTL = "etcdctl"
QUOTA_MB = 12
BALLAST_PREFIX = "/ballast/"
BALLAST_BYTES = 1000000  # of a value; etcd takes a little more than that
MEMBER = "member"  # what etcd keeps in its folder


def cannot_use():
  """What this machine lacks for it; "": nothing."""
  if shutil.which(ETCDCTL) is None:
    return f"{ETCDCTL} is missing; run deploy/install-packages"
  return ""


class Store:
  """The etcd of a ChaosCluster."""

  def __init__(self, cluster):
    self.cluster = cluster
    self._ballast = 0

  def _ctl(self, *words, text=None, check=True):
    address = self.cluster.state["addresses"]["etcd"]
    done = subprocess.run(
        self.cluster.command_for("etcd", [
            ETCDCTL, f"--endpoints=http://{address}",
            "--command-timeout=5s", *words]),
        input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False, env={**os.environ, "ETCDCTL_API": "3"})
    if check and done.returncode != 0:
      raise ClusterError(f"etcdctl {' '.join(words)}: {done.stdout.strip()}")
    return done.stdout

  def revision(self):
    said = json.loads(self._ctl("endpoint", "status", "-w", "json"))
    return said[0]["Status"]["header"]["revision"]

  def renewed(self):
    """Names of the known renewals of leaderships; None: not known."""
    if cannot_use():
      return None
    said = self._ctl("get", "--prefix", "--keys-only", "-w", "json", "",
                     check=False)
    try:
      pairs = json.loads(said.splitlines()[-1]).get("kvs", [])
    except (ValueError, IndexError):
      return None
    return max((pair["mod_revision"] for pair in pairs), default=None)

  def save(self, path):
    """A snapshot; returns its revision."""
    self._ctl("snapshot", "save", path)
    return json.loads(self._ctl("snapshot", "status", path, "-w",
                                "json"))["revision"]

  def put_back(self, path):
    """Replaces etcd's data by the snapshot; etcd does not run."""
    target = self.cluster.data_dir("etcd")
    made = path + ".restored"
    self._ctl("snapshot", "restore", path, f"--data-dir={made}")
    self.empty()
    shutil.move(os.path.join(made, MEMBER), os.path.join(target, MEMBER))
    shutil.rmtree(made)
    os.remove(path)

  def empty(self):
    shutil.rmtree(os.path.join(self.cluster.data_dir("etcd"), MEMBER))

  def is_full(self):
    return "NOSPACE" in self._ctl("alarm", "list", check=False)

  def fill(self):
    """Fills etcd to its quota: from then on it takes no writes."""
    value = "x" * BALLAST_BYTES
    for _ in range(2 * QUOTA_MB):
      self._ballast += 1
      said = self._ctl("put", f"{BALLAST_PREFIX}{self._ballast}", text=value,
                       check=False)
      if "database space exceeded" in said:
        break
    if not self.is_full():
      raise ClusterError("etcd did not become full")

  def make_room(self):
    """Follows "A full etcd" in docs/operate/operations.md."""
    self._ctl("del", "--prefix", BALLAST_PREFIX)
    self._ctl("compact", "--physical", str(self.revision()))
    self._ctl("defrag")
    self._ctl("alarm", "disarm")
    if self.is_full():
      raise ClusterError("etcd is still full")
