"""A real Kubernetes API server with its etcd, controllers and scheduler."""

import json
import os
import secrets
import subprocess

from services import RigError, Services, await_true

ETCD = "127.0.0.1:23790"
PORT = 6443
SERVICES = "10.96.0.0/16"
READY_S = 90


class ControlPlane:
  """One in a folder; for a network namespace of its own, as ports are fixed.

  Args:
    folder: of certificates, data and logs.
    programs: folder of Kubernetes' programs.
    address: that nodes reach the API server at.
  """

  def __init__(self, folder, programs, address="127.0.0.1"):
    self.folder = folder
    self.programs = programs
    self.address = address
    self.services = Services(os.path.join(folder, "logs"))
    self.kubeconfig = self.path("kubeconfig")
    self._keys = self.path("keys")
    os.makedirs(self._keys, exist_ok=True)

  def path(self, *names):
    return os.path.join(self.folder, *names)

  def program(self, name):
    return os.path.join(self.programs, name)

  def start(self):
    self._make_keys()
    self._start_etcd()
    self._start_api_server()
    await_true(self._is_ready, READY_S, "the API server")
    common = [f"--kubeconfig={self.kubeconfig}", "--leader-elect=false",
              "--bind-address=127.0.0.1", f"--cert-dir={self._keys}"]
    self.services.start(
        "controllers", self.program("kube-controller-manager"), *common,
        f"--service-account-private-key-file={self._keys}/accounts.key",
        f"--root-ca-file={self._keys}/apiserver.crt",
        "--controllers=*,-nodeipam,-cloud-node-lifecycle")
    self.services.start("scheduler", self.program("kube-scheduler"), *common)
    await_true(lambda: self.get("serviceaccount", "default") is not None,
               READY_S, "the controllers")

  def stop(self):
    self.services.stop()

  def _make_keys(self):
    key = f"{self._keys}/accounts.key"
    subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True,
                   stderr=subprocess.DEVNULL)
    subprocess.run(["openssl", "rsa", "-in", key, "-pubout", "-out",
                    f"{self._keys}/accounts.pub"], check=True,
                   stderr=subprocess.DEVNULL)
    token = secrets.token_hex(16)
    with open(f"{self._keys}/tokens.csv", "w", encoding="ascii") as f:
      f.write(f"{token},admin,1,system:masters\n")
    with open(self.kubeconfig, "w", encoding="ascii") as f:
      json.dump({
          "apiVersion": "v1", "kind": "Config", "current-context": "c",
          "clusters": [{"name": "c", "cluster": {
              "server": f"https://127.0.0.1:{PORT}",
              "insecure-skip-tls-verify": True}}],
          "users": [{"name": "admin", "user": {"token": token}}],
          "contexts": [{"name": "c", "context": {
              "cluster": "c", "user": "admin"}}],
      }, f)

  def _start_etcd(self):
    peer = "http://127.0.0.1:23791"
    self.services.start(
        "etcd", "etcd", f"--data-dir={self.path('etcd')}", "--name=k",
        "--unsafe-no-fsync", "--logger=zap",
        f"--listen-client-urls=http://{ETCD}",
        f"--advertise-client-urls=http://{ETCD}",
        f"--listen-peer-urls={peer}", f"--initial-cluster=k={peer}",
        f"--initial-advertise-peer-urls={peer}")

  def _start_api_server(self):
    self.services.start(
        "apiserver", self.program("kube-apiserver"),
        f"--etcd-servers=http://{ETCD}", f"--secure-port={PORT}",
        "--bind-address=0.0.0.0", f"--advertise-address={self.address}",
        f"--cert-dir={self._keys}", f"--service-cluster-ip-range={SERVICES}",
        "--service-account-issuer=https://kamino.test",
        f"--service-account-key-file={self._keys}/accounts.pub",
        f"--service-account-signing-key-file={self._keys}/accounts.key",
        f"--token-auth-file={self._keys}/tokens.csv",
        "--authorization-mode=RBAC", "--allow-privileged=true",
        "--kubelet-preferred-address-types=InternalIP",
        # Debian's etcd cannot do what such lists need.
        "--feature-gates=WatchList=false")

  def _is_ready(self):
    self.services.check()
    return self.kubectl("get", "--raw=/readyz", check=False).returncode == 0

  # --- What its clients do.

  def run(self, program, *words, check=True, text=None):
    """Runs kubectl or helm; without success an error in one line."""
    done = subprocess.run(
        [self.program(program), *words], input=text, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, check=False, timeout=300,
        env={**os.environ, "KUBECONFIG": self.kubeconfig,
             "HOME": self.folder})
    if check and done.returncode != 0:
      raise RigError(f"{program} {' '.join(words)}: {done.stderr.strip()}")
    return done

  def kubectl(self, *words, **kwargs):
    return self.run("kubectl", *words, **kwargs)

  def helm(self, *words, **kwargs):
    return self.run("helm", *words, **kwargs)

  def apply(self, *objects):
    text = json.dumps({"apiVersion": "v1", "kind": "List",
                       "items": list(objects)})
    self.kubectl("apply", "--server-side", "--validate=strict", "-f", "-",
                 text=text)

  def get(self, kind, name):
    """An object; None when it is not there."""
    done = self.kubectl("get", kind, name, "-o", "json", check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None

  def list(self, kind, selector=""):
    done = self.kubectl("get", kind, "-o", "json", f"--selector={selector}")
    return json.loads(done.stdout)["items"]
