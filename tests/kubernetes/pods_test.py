"""The chart's pods on a real kubelet: killed, replaced and made more of under a
load, of which nothing that was acknowledged may be lost, and no call fail."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

from chart import CHART, MANAGERS, NODES, ROOT, is_ready, sets
from control_plane import ControlPlane
from real_node import ADDRESS, RealNode
from services import RigError, await_true

sys.path.insert(0, os.path.join(ROOT, "deploy", "image"))
sys.path.insert(0, os.path.join(ROOT, "tests", "integration"))
# pylint: disable=wrong-import-position
import build as image
from failing import FailureTest

PROGRAMS = os.environ["KAMINO_KUBERNETES"]
BINARIES = os.environ.get("KAMINO_BIN_ROOT") or os.path.join(ROOT, "bazel-bin")
IMAGE = "localhost/kamino"
PATIENCE_S = 60
ACCOUNTS = 50
BALANCE = 1000
VALUES = {
    "etcd.endpoints": f"{{{ADDRESS}:2379}}", "image.tag": "test",
    "image.pullPolicy": "Never", "insecure": "true",
    # Volumes in memory, several nodes on one machine of two processors.
    "nodes.pmem": "force", "nodes.antiAffinity": "none", "nodes.heapMb": 64,
    "nodes.ringMb": 16, "nodes.storage.className": "kamino-local",
    "nodes.resources.requests.cpu": "50m",
    "nodes.resources.requests.memory": "256Mi",
    "nodes.resources.limits.memory": "1Gi",
    "managers.resources.requests.cpu": "50m",
}


class Load(threading.Thread):
  """Transfers, from a client outside of the cluster, until stop()."""

  def __init__(self, test):
    super().__init__(daemon=True)
    self._test = test
    self._ended = threading.Event()
    self.log = os.path.join(test.folder, f"acked-{id(self)}.log")
    self.failure = None
    self.longest_ms = 0
    self.start()

  def run(self):
    while not self._ended.is_set():
      done = self._test.kamino(
          "bench", "transfer", "--count=1000", "--outstanding=16",
          f"--accounts={ACCOUNTS}", f"--acked_log={self.log}",
          "--timeout=60s", "--json", check=False)
      if done.returncode != 0:
        self.failure = done.stderr.strip()
        return
      longest = json.loads(done.stdout)["max_ms"]
      self.longest_ms = max(self.longest_ms, longest)

  def transfers(self):
    with open(self.log, encoding="ascii") as f:
      return [(a, b, int(n)) for a, b, n, _ in map(str.split, f)]

  def await_some(self, count=500):
    """Waits for that many more."""
    def acked():
      if self.failure:
        raise RigError(f"the load: {self.failure}")
      try:
        with open(self.log, "rb") as f:
          return f.read().count(b"\n")
      except OSError:
        return 0
    goal = acked() + count
    await_true(lambda: acked() >= goal, PATIENCE_S, f"{count} transfers")

  def stop(self):
    self._ended.set()
    self.join()
    self._test.assertIsNone(self.failure)


class PodsTest(FailureTest):

  @classmethod
  def setUpClass(cls):
    cls.folder = tempfile.mkdtemp(prefix="kamino-k8s-")
    cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
    cls.memory = tempfile.mkdtemp(prefix="kamino-k8s-", dir="/dev/shm")
    cls.addClassCleanup(shutil.rmtree, cls.memory, ignore_errors=True)
    archive = os.path.join(cls.folder, "image.tar")
    image.build(BINARIES, archive, f"{IMAGE}:test")
    RealNode.make_network()
    cls.cluster = ControlPlane(os.path.join(cls.folder, "c"), PROGRAMS,
                               ADDRESS)
    cls.addClassCleanup(cls.cluster.stop)
    cls.cluster.start()
    cls.node = RealNode(cls.cluster)
    cls.node.start(archive)
    cls.start_kaminos_etcd()
    cls.cluster.apply(*[cls.volume(f"v{i}") for i in range(4)])

  @classmethod
  def start_kaminos_etcd(cls):
    client, peer = f"http://{ADDRESS}:2379", f"http://{ADDRESS}:2380"
    cls.cluster.services.start(
        "kaminos-etcd", "etcd", "--name=e", "--logger=zap",
        f"--data-dir={cls.folder}/etcd", f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}", f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=e={peer}")

  @classmethod
  def volume(cls, name):
    path = os.path.join(cls.memory, name)
    os.mkdir(path)
    return {
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "64Gi"}, "local": {"path": path},
            "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": "kamino-local",
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{
                "matchExpressions": [{"key": "kubernetes.io/hostname",
                                      "operator": "Exists"}]}]}},
        },
    }

  def tearDown(self):
    if self.has_failed():
      self.tell()

  def tell(self):
    """Prints the state of the pods, to explain a failure."""
    print(self.cluster.kubectl("get", "pods", "-o", "wide",
                               check=False).stdout)
    print(self.kamino("admin", "status", check=False).stdout)
    for name in [*self.pods(), *self.pods(MANAGERS)]:
      for words in (["--previous"], []):
        print(f"--- {name} {''.join(words)}")
        print(self.cluster.kubectl("logs", "--tail=15", *words, name,
                                   check=False).stdout)

  # --- What the test does.

  def helm(self, verb, **values):
    self.cluster.helm(verb, "kamino", CHART, *sets({**VALUES, **values}))

  def kamino(self, *words, check=True):
    address = self.cluster.get("service", "kamino")["spec"]["clusterIP"]
    managers = self.cluster.get("service", "kamino-managers")["spec"]
    done = subprocess.run(
        [os.path.join(BINARIES, "client", "cli", "kamino"), *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
        env={"KAMINO_SEEDS": f"{address}:7001",
             "KAMINO_MANAGERS": f"{managers['clusterIP']}:7000",
             "KAMINO_INSECURE": "1", "HOME": self.folder})
    if check:
      self.assertEqual(done.returncode, 0, done.stderr)
    return done

  def pods(self, selector=NODES):
    return {p["metadata"]["name"]: p
            for p in self.cluster.list("pods", selector)}

  def chain(self):
    """Names of the nodes that are in the chain, if it is as they say."""
    done = self.kamino("status", "--json", "--timeout=2s", check=False)
    if done.returncode != 0:
      return []
    nodes = [json.loads(line) for line in done.stdout.splitlines()[1:]]
    return [n["node_id"] for n in nodes if n.get("lease_valid")]

  def await_chain(self, count):
    await_true(lambda: len(self.chain()) == count, PATIENCE_S,
               f"a chain of {count}")
    await_true(lambda: sum(map(is_ready, self.pods().values())) == count,
               PATIENCE_S, f"{count} pods to be ready")

  def check_bank(self, loads):
    """Every acknowledged transfer has happened once, and nothing else."""
    balances = {f"bank/{i:06d}": BALANCE for i in range(ACCOUNTS)}
    for load in loads:
      for source, target, amount in load.transfers():
        balances[source] -= amount
        balances[target] += amount
    found = dict(line.split("\t") for line in self.kamino(
        "scan", "--prefix=bank/").stdout.splitlines())
    self.assertEqual(found, {k: str(v) for k, v in balances.items()})

  # --- The test.

  def test_life(self):
    self.helm("install")
    self.await_chain(3)
    first = Load.__new__(Load)
    first.log = os.path.join(self.folder, "first.log")
    self.kamino("bench", "transfer", "--setup", f"--accounts={ACCOUNTS}",
                f"--balance={BALANCE}", "--count=1", "--outstanding=1",
                f"--acked_log={first.log}")
    loads = [first]
    for step in (self.kill_a_pod, self.restart_all, self.kill_the_manager,
                 self.make_f_larger):
      print(f"{step.__name__} ...", flush=True)
      load = Load(self)
      load.await_some()
      step()
      load.await_some()
      load.stop()
      loads.append(load)
      self.check_bank(loads)
      print(f"{step.__name__}: {len(load.transfers())} transfers, the longest "
            f"took {load.longest_ms:.0f} ms", flush=True)
    self.uninstall()
    self.check_bank(loads)

  def kill_a_pod(self):
    victim = self.chain()[0]
    before = self.pods()[victim]["metadata"]["uid"]
    self.cluster.kubectl("delete", "pod", victim, "--force",
                         "--grace-period=0")
    await_true(lambda: self.pods().get(victim, {}).get("metadata", {}).get(
        "uid", before) != before, PATIENCE_S, "another pod")
    self.await_chain(3)

  def restart_all(self):
    before = {n: p["metadata"]["uid"] for n, p in self.pods().items()}
    self.cluster.kubectl("rollout", "restart", "statefulset/kamino")
    self.cluster.kubectl("rollout", "status", "statefulset/kamino",
                         f"--timeout={PATIENCE_S}s")
    self.await_chain(3)
    for name, pod in self.pods().items():
      self.assertNotEqual(pod["metadata"]["uid"], before[name])

  def kill_the_manager(self):
    for name in self.pods(MANAGERS):
      self.cluster.kubectl("delete", "pod", name, "--force",
                           "--grace-period=0")
    self.cluster.kubectl("rollout", "status", "deployment/kamino-managers",
                         f"--timeout={PATIENCE_S}s")

  def make_f_larger(self):
    self.helm("upgrade", f=2)
    self.await_chain(4)

  def uninstall(self):
    self.cluster.helm("uninstall", "kamino", "--wait")
    self.assertEqual(len(self.cluster.list("pvc")), 4)
    self.helm("install", f=2)
    self.await_chain(4)


if __name__ == "__main__":
  unittest.main(verbosity=2)
