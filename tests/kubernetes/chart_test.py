"""The chart on a real API server with its controllers and scheduler; kubelets
are kwok's, which say of each pod that it runs."""

import collections
import json
import os
import shutil
import tempfile
import unittest

from chart import CHART, MANAGERS, NODES, is_ready, sets
from control_plane import ControlPlane
from services import await_true

PATIENCE_S = 60
PROGRAMS = os.environ["KAMINO_KUBERNETES"]
MACHINES = os.path.join(os.path.dirname(os.path.realpath(__file__)),
                        "machines.yaml")
CRDS = os.path.join(os.path.dirname(MACHINES), "crds.yaml")
BASE = {"etcd.endpoints": "{etcd-0.etcd:2379,etcd-1.etcd:2379}",
        "insecure": "true"}
TLS = {"insecure": "false", "tls.enabled": "true", "etcd.tls.secret": "etcd"}
# Values that together set all of the chart's options; options that exclude each
# other are in different variants.
VARIANTS = [
    {},
    {"f": 2, "spares": 1, "clusterId": "shop", "image.tag": "v1",
     "image.pullSecrets[0].name": "s"},
    {"chainMode": "images", "nodes.transport": "auto",
     "nodes.rdma.resource": "rdma/hca", "nodes.hugepages.amount": "512Mi",
     "nodes.storage.className": "local", "nodes.flags.alpha": "1"},
    {"nodes.device.resource": "kamino.test/dax",
     "nodes.device.path": "/dev/dax0.0", "nodes.antiAffinity": "none",
     "nodes.spreadOver": "", "managers.antiAffinity": "required"},
    {"nodes.priorityClassName": "high",
     "nodes.tolerations[0].operator": "Exists",
     "nodes.nodeSelector.disk": "pmem", "nodes.podAnnotations.a": "b",
     "managers.flags.compact_etcd": "false"},
    {"networkPolicy.clients[0].podSelector.matchLabels.app": "shop",
     "networkPolicy.operators[0].namespaceSelector.matchLabels.team": "ops",
     "service.type": "LoadBalancer", "service.annotations.a": "b"},
    {"networkPolicy.enabled": "false", "podDisruptionBudget.enabled": "false"},
    {"serviceMonitor.enabled": "true", "serviceMonitor.labels.release": "p",
     "networkPolicy.monitoring[0].namespaceSelector.matchLabels.team": "sre"},
    {**TLS, "f": 2, "tls.roles": "others = 'nothing'", "tls.revoked": "crl"},
    {**TLS, "tls.secrets.nodes": "n", "tls.secrets.managers": "m",
     "etcd.tls.clientCertificate": "false", "etcd.user": "kamino",
     "etcd.passwordSecret": "p",
     "networkPolicy.operators[0].podSelector.matchLabels.app": "ops"},
    {**TLS, "tls.source": "certManager", "tls.issuer.name": "ca",
     "serviceMonitor.enabled": "true", "serviceMonitor.secret": "reader"},
    {**TLS, "tls.source": "csi", "tls.issuer.name": "ca",
     "tls.issuer.kind": "ClusterIssuer"},
]


def fake_node(name, zone):
  return {
      "apiVersion": "v1", "kind": "Node",
      "metadata": {"name": name, "annotations": {"kwok.x-k8s.io/node": "fake"},
                   "labels": {"kubernetes.io/hostname": name,
                              "topology.kubernetes.io/zone": zone}},
  }


def volume(name):
  return {
      "apiVersion": "v1", "kind": "PersistentVolume",
      "metadata": {"name": name},
      "spec": {"capacity": {"storage": "64Gi"}, "hostPath": {"path": "/none"},
               "accessModes": ["ReadWriteOnce"],
               "persistentVolumeReclaimPolicy": "Retain",
               "storageClassName": "kamino-local"},
  }


class ChartTest(unittest.TestCase):

  @classmethod
  def setUpClass(cls):
    cls.folder = tempfile.mkdtemp(prefix="kamino-k8s-")
    cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
    cls.cluster = ControlPlane(cls.folder, PROGRAMS)
    cls.addClassCleanup(cls.cluster.stop)
    cls.cluster.start()
    cls.cluster.kubectl("apply", "-f", CRDS)
    cls.cluster.kubectl("wait", "--for=condition=Established", "crd", "--all")
    cls.cluster.services.start(
        "kwok", os.path.join(PROGRAMS, "kwok"), f"--config={MACHINES}",
        f"--kubeconfig={cls.cluster.kubeconfig}",
        "--manage-all-nodes=false", "--node-lease-duration-seconds=40",
        "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake")

  def pods(self, selector=NODES):
    return self.cluster.list("pods", selector)

  def await_ready(self, count, selector=NODES):
    await_true(lambda: sum(map(is_ready, self.pods(selector))) == count,
               PATIENCE_S, f"{count} pods to be ready")

  def install(self, verb="install", **values):
    self.cluster.helm(verb, "kamino", CHART, *sets({
        **BASE, "nodes.storage.className": "kamino-local", **values}))

  # --- What the chart says.

  def test_every_variant_is_valid(self):
    for values in VARIANTS:
      with self.subTest(values):
        made = self.cluster.helm("template", "k", CHART,
                                 *sets({**BASE, **values}),
                                 "--kube-version=1.34.4").stdout
        done = self.cluster.kubectl(
            "apply", "--server-side", "--dry-run=server", "--validate=strict",
            "-f", "-", text=made)
        self.assertEqual(done.stderr, "")

  def test_invalid_values_are_refused(self):
    for values, word in (({"nodes.heapMB": 64}, "heapMB"),
                         ({"chainMode": "quick"}, "chainMode"),
                         ({"nodes.heapMb": 1}, "heapMb"),
                         ({"etcd.endpoints": "{http://e:2379}"}, "endpoints"),
                         ({"insecure": "false"}, "say so by insecure=true"),
                         ({"tls.enabled": "true"}, "contradict"),
                         ({**TLS, "etcd.tls.secret": ""}, "etcd.tls.secret"),
                         ({**TLS, "tls.source": "csi"}, "tls.issuer.name"),
                         ({**TLS, "tls.source": "vault"}, "source"),
                         ({**TLS, "serviceMonitor.enabled": "true"},
                          "serviceMonitor.secret"),
                         ({"etcd.user": "u"}, "go together")):
      done = self.cluster.helm("template", "k", CHART, "--kube-version=1.34.4",
                               *sets({**BASE, **values}), check=False)
      self.assertNotEqual(done.returncode, 0, values)
      self.assertIn(word, done.stderr)
    done = self.cluster.helm("template", "k", CHART, "--kube-version=1.34.4",
                             check=False)
    self.assertIn("etcd.endpoints is empty", done.stderr)

  def test_each_node_presents_its_own_certificate(self):
    """By whichever way: the identity in it is the pod's node id."""
    for source in ("secrets", "certManager", "csi"):
      made = self.cluster.helm(
          "template", "kamino", CHART, "--kube-version=1.34.4", *sets({
              **BASE, **TLS, "tls.source": source, "tls.issuer.name": "ca",
              "clusterId": "shop"})).stdout
      objects = [json.loads(line) for line in self.cluster.kubectl(
          "create", "--dry-run=client", "--validate=false", "-o", "json",
          "-f", "-", text=made).stdout.replace("\n}\n{", "\n}\0{").split("\0")]
      of_kind = collections.defaultdict(list)
      for each in objects:
        of_kind[each["kind"]].append(each)
      [nodes] = of_kind["StatefulSet"]
      pod = nodes["spec"]["template"]["spec"]
      volume = {v["name"]: v for v in pod["volumes"]}["tls"]
      args = pod["containers"][0]["args"]
      self.assertNotIn("--insecure", args)
      probes = [pod["containers"][0][p]["httpGet"]["scheme"] for p in (
          "livenessProbe", "readinessProbe", "startupProbe")]
      self.assertEqual(probes, ["HTTPS"] * 3)
      if source == "csi":
        self.assertIn("--tls_key=/etc/kamino/tls/tls.key", args)
        self.assertEqual(
            volume["csi"]["volumeAttributes"]["csi.cert-manager.io/uri-sans"],
            "kamino://shop/node/${POD_NAME}")
        continue
      self.assertIn("--tls_key=/etc/kamino/tls/$(POD_NAME)/tls.key", args)
      files = {item["path"]: (each["secret"]["name"], item["key"])
               for each in volume["projected"]["sources"]
               for item in each["secret"]["items"]}
      for i in range(3):
        self.assertEqual(files[f"kamino-{i}/tls.key"],
                         (f"kamino-node-{i}", "tls.key"))
      made = {c["spec"]["secretName"]: c["spec"]["uris"]
              for c in of_kind["Certificate"]}
      self.assertEqual(made, {} if source == "secrets" else {
          "kamino-manager": ["kamino://shop/manager/kamino"],
          **{f"kamino-node-{i}": [f"kamino://shop/node/kamino-{i}"]
             for i in range(3)}})

  def test_managers_reach_nodes_under_any_client_policy(self):
    """Their page shows what nodes say of themselves."""
    made = self.cluster.helm(
        "template", "kamino", CHART, "--kube-version=1.34.4", *sets({
            **BASE, "networkPolicy.clients[0].podSelector.matchLabels.app":
                "shop"})).stdout
    objects = [json.loads(line) for line in self.cluster.kubectl(
        "create", "--dry-run=client", "--validate=false", "-o", "json",
        "-f", "-", text=made).stdout.replace("\n}\n{", "\n}\0{").split("\0")]
    [nodes] = [each for each in objects if each["kind"] == "NetworkPolicy" and
               each["metadata"]["name"] == "kamino-nodes"]
    ports = [rule["ports"] for rule in nodes["spec"]["ingress"]
             for who in rule.get("from", ())
             if who["podSelector"]["matchLabels"].get(
                 "app.kubernetes.io/component") == "manager"]
    self.assertEqual(ports, [[{"port": "grpc"}]])

  # --- What becomes of it.

  def test_life(self):
    self.cluster.apply(*[volume(f"v{i}") for i in range(5)])
    self.install()
    # All at once, with no machine there and none of them ready.
    await_true(lambda: len(self.pods()) == 3, PATIENCE_S, "three pods")
    self.cluster.apply(*[fake_node(f"m{i}", f"zone{i % 2}")
                         for i in range(4)])
    self.await_ready(3)
    self.await_ready(2, MANAGERS)
    machines = {p["spec"]["nodeName"] for p in self.pods()}
    self.assertEqual(len(machines), 3, "two nodes on one machine")
    zones = collections.Counter(int(m[1:]) % 2 for m in machines)
    self.assertEqual(sorted(zones.values()), [1, 2])
    self.check_budget()
    self.check_update()
    self.check_larger_f()
    self.check_uninstall()

  def evict(self, name):
    return self.cluster.kubectl(
        "create", "--raw", f"/api/v1/namespaces/default/pods/{name}/eviction",
        "-f", "-", check=False, text=json.dumps({
            "apiVersion": "policy/v1", "kind": "Eviction",
            "metadata": {"name": name, "namespace": "default"}}))

  def check_budget(self):
    """A second machine is not drained before the chain is whole again."""
    budget = "kamino-nodes"
    def allowed():
      status = self.cluster.get("pdb", budget)["status"]
      return status.get("disruptionsAllowed") == 1
    await_true(allowed, PATIENCE_S, "a disruption to be allowed")
    for machine in ("m0", "m1", "m2", "m3"):
      self.cluster.kubectl("cordon", machine)
    self.assertEqual(self.evict("kamino-0").returncode, 0)
    refused = self.evict("kamino-1")
    self.assertIn("disruption budget", refused.stderr)
    for machine in ("m0", "m1", "m2", "m3"):
      self.cluster.kubectl("uncordon", machine)
    self.await_ready(3)

  def check_update(self):
    """One pod after the other is replaced, the last one first."""
    before = {p["metadata"]["name"]: p["metadata"]["uid"] for p in self.pods()}
    self.install("upgrade", **{"nodes.heapMb": 2048})
    self.cluster.kubectl("rollout", "status", "statefulset/kamino",
                         f"--timeout={PATIENCE_S}s")
    pods = self.pods()
    for pod in pods:
      self.assertNotEqual(pod["metadata"]["uid"],
                          before[pod["metadata"]["name"]])
      self.assertIn("--heap_mb=2048", pod["spec"]["containers"][0]["args"])
    times = {p["metadata"]["name"]: p["metadata"]["creationTimestamp"]
             for p in pods}
    self.assertEqual(sorted(times, key=times.get),
                     ["kamino-2", "kamino-1", "kamino-0"])

  def check_larger_f(self):
    self.install("upgrade", f=2)
    self.await_ready(4)
    self.cluster.kubectl("rollout", "status", "deployment/kamino-managers",
                         f"--timeout={PATIENCE_S}s")
    for pod in self.pods(MANAGERS):
      self.assertIn("--chain_length=4", pod["spec"]["containers"][0]["args"])

  def check_uninstall(self):
    """The data stays, and is there for a release of the same name."""
    self.cluster.helm("uninstall", "kamino", "--wait")
    claims = {c["metadata"]["name"]: c["spec"]["volumeName"]
              for c in self.cluster.list("pvc")}
    self.assertEqual(sorted(claims), [f"data-kamino-{i}" for i in range(4)])
    self.assertEqual(self.pods(), [])
    self.install(f=2)
    self.await_ready(4)
    self.assertEqual(claims, {c["metadata"]["name"]: c["spec"]["volumeName"]
                              for c in self.cluster.list("pvc")})


if __name__ == "__main__":
  unittest.main(verbosity=2)
