"""A machine of a cluster: containerd, a kubelet, kube-proxy and names for pods,
in namespaces of this one.

NetworkPolicies are not enforced: the bridge that pods are on knows none.
"""

import os
import subprocess
import sys

from control_plane import ControlPlane
from services import RigError, await_true

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.realpath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "deploy", "image"))
# pylint: disable=wrong-import-position
from oci import Layer, write_image

NAME = "machine"
ADDRESS = "10.99.0.1"
POD_NETWORK = "10.244.0.0/24"
PAUSE = "localhost/pause:1"
NAMES = "kamino.test"  # the cluster's domain
READY_S = 60

CNI = """{"cniVersion": "0.4.0", "name": "pods", "plugins": [{
  "type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": false,
  "hairpinMode": true, "ipam": {
    "type": "host-local", "ranges": [[{"subnet": "%(pods)s"}]],
    "routes": [{"dst": "0.0.0.0/0"}], "dataDir": "%(folder)s/ipam"}}]}
"""

CONTAINERD = """version = 2
root = "%(folder)s/containerd"
state = "%(folder)s/containerd-state"
[grpc]
  address = "%(socket)s"
[plugins."io.containerd.grpc.v1.cri"]
  restrict_oom_score_adj = true
  sandbox_image = "%(pause)s"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "%(folder)s/cni"
"""

# No cgroups of its own for pods, and none of systemd, which is not there.
KUBELET = """apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
containerRuntimeEndpoint: unix://%(socket)s
cgroupDriver: cgroupfs
cgroupsPerQOS: false
enforceNodeAllocatable: []
failSwapOn: false
failCgroupV1: false
resolvConf: ""
clusterDNS: [%(address)s]
clusterDomain: %(names)s
localStorageCapacityIsolation: false
podLogsDir: %(folder)s/pod-logs
evictionHard: {memory.available: 100Mi}
imageGCHighThresholdPercent: 100
"""

COREDNS = """.:53 {
  errors
  kubernetes %(names)s {
    kubeconfig %(kubeconfig)s c
    ttl 1
  }
}
"""


def _run(*words):
  done = subprocess.run(words, stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT, text=True, check=False)
  if done.returncode != 0:
    raise RigError(f"{' '.join(words)}: {done.stdout.strip()}")
  return done.stdout


class RealNode:
  """The one machine of a ControlPlane that is started."""

  def __init__(self, cluster: ControlPlane):
    self._cluster = cluster
    self._folder = cluster.path("machine")
    self._socket = os.path.join(self._folder, "containerd.sock")
    os.makedirs(os.path.join(self._folder, "cni"))

  @staticmethod
  def make_network():
    """Makes the network in this process's own namespace."""
    _run("hostname", NAME)
    _run("mount", "--make-rshared", "/")
    for words in ("link add d0 type veth peer name d1", "link set d1 up",
                  f"addr add {ADDRESS}/24 dev d0", "link set d0 up",
                  "route add default via 10.99.0.2 dev d0"):
      _run("ip", *words.split())
    with open("/proc/sys/net/ipv4/ip_forward", "w", encoding="ascii") as f:
      f.write("1")

  def _write(self, name, text):
    path = os.path.join(self._folder, name)
    with open(path, "w", encoding="ascii") as f:
      f.write(text % {"folder": self._folder, "socket": self._socket,
                      "pause": PAUSE, "pods": POD_NETWORK, "names": NAMES,
                      "address": ADDRESS,
                      "kubeconfig": self._cluster.kubeconfig})
    return path

  def start(self, *images):
    """Starts with images of these archives, until the node is ready."""
    self._write("cni/pods.conflist", CNI)
    cluster, services = self._cluster, self._cluster.services
    services.start("containerd", "containerd", "--config",
                   self._write("containerd.toml", CONTAINERD))
    await_true(lambda: self._ctr("version", check=False), READY_S,
               "containerd")
    for image in (self._make_pause(), *images):
      self._ctr("images", "import", image)
    services.start("coredns", cluster.program("coredns"), "-conf",
                   self._write("Corefile", COREDNS))
    services.start(
        "kubelet", cluster.program("kubelet"),
        "--config", self._write("kubelet.yaml", KUBELET),
        f"--kubeconfig={cluster.kubeconfig}",
        f"--root-dir={self._folder}/kubelet",
        f"--cert-dir={self._folder}/kubelet-keys",
        f"--hostname-override={NAME}", f"--node-ip={ADDRESS}")
    services.start(
        "proxy", cluster.program("kube-proxy"), "--proxy-mode=nftables",
        f"--kubeconfig={cluster.kubeconfig}", f"--hostname-override={NAME}",
        f"--cluster-cidr={POD_NETWORK}", "--conntrack-max-per-core=0",
        "--conntrack-tcp-timeout-established=0s",
        "--conntrack-tcp-timeout-close-wait=0s")
    await_true(self._is_ready, READY_S, "the kubelet")

  def _is_ready(self):
    self._cluster.services.check()
    node = self._cluster.get("node", NAME)
    return node is not None and any(
        c["type"] == "Ready" and c["status"] == "True"
        for c in node["status"]["conditions"])

  def _ctr(self, *words, check=True):
    done = subprocess.run(["ctr", "--address", self._socket, "--namespace",
                           "k8s.io", *words], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if check and done.returncode != 0:
      raise RigError(f"ctr {' '.join(words)}: {done.stdout.strip()}")
    return done.returncode == 0

  def _make_pause(self):
    program = os.path.join(self._folder, "pause")
    _run("gcc", "-O1", "-static", "-o", program,
         os.path.join(os.path.dirname(os.path.realpath(__file__)), "pause.c"))
    layer = Layer()
    layer.file("pause", program)
    archive = os.path.join(self._folder, "pause.tar")
    write_image(archive, PAUSE, [layer], {"Entrypoint": ["/pause"]})
    return archive
