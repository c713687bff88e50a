"""A cluster that uses certificates everywhere, etcd included, made by `kamino
cert`: access, and changes of certificates and tokens."""

import json
import os
import ssl
import subprocess
import urllib.error
import urllib.request

from harness import ClusterTest, Load, main, patience, wait_until
from local_cluster import LocalCluster

PATIENCE_S = 30
PASSWORD = "correct horse"


class TlsCluster(LocalCluster):
  """A cluster whose manager is a user of etcd, once that is enabled."""

  @property
  def password_file(self):
    return os.path.join(self.folder, "etcd.password")

  def write_password(self, password):
    with open(self.password_file, "w", encoding="ascii") as f:
      f.write(password + "\n")

  def _etcd_command(self, address):
    return [*super()._etcd_command(address), "--auth-token-ttl=2",
            "--bcrypt-cost=4"]

  def _manager_command(self, name, address):
    if not os.path.exists(self.password_file):
      self.write_password(PASSWORD)
    return [*super()._manager_command(name, address), "--etcd_user=kamino",
            f"--etcd_password_file={self.password_file}"]

  def etcdctl(self, *words, user=None, text=None):
    """Shows a certificate of etcd's authority."""
    folder = os.path.join(self.folder, "certificates", "etcd")
    done = subprocess.run(
        ["etcdctl", f"--endpoints=https://{self.state['addresses']['etcd']}",
         f"--cacert={folder}/ca.pem", f"--cert={folder}/etcd-e.pem",
         f"--key={folder}/etcd-e.key",
         *([f"--user={user}"] if user else []), *words],
        input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False, timeout=patience(60))
    if done.returncode != 0:
      raise AssertionError(f"etcdctl {words}: {done.stdout}")
    return done.stdout


class TlsClusterTest(ClusterTest):

  cluster_class = TlsCluster
  start = {"tls": True, "web": True, "nodes": 3, "heap_mb": 64}

  def log_has(self, name, text):
    return text in self.cluster.log_tail(name, 10**6)

  def leads(self):
    done = self.cluster.kamino(
        "admin", "status", "--json", "--timeout=2s",
        f"--managers={','.join(self.cluster.operators_addresses)}",
        check=False)
    return done.returncode == 0

  # One cluster for all: starting one takes longest.
  def test_access_renewal_and_revocation(self):
    self.kamino("put", "a", "1")
    self.assertEqual(self.kamino("get", "a"), "1\n")
    self.check_access()
    self.check_pages()
    self.check_etcds_user()
    self.check_renewal()
    self.check_restarts()
    self.check_revocation()
    for name in ("manager", *self.cluster.nodes):
      self.assertNotIn(PASSWORD, self.cluster.log_tail(name, 10**6))

  def check_access(self):
    etcd = self.cluster.state["addresses"]["etcd"]
    # etcd refuses every certificate of the cluster's authority.
    certificate, key = self.cluster.certificates.pair("manager/manager")
    done = subprocess.run(
        ["etcdctl", f"--endpoints=https://{etcd}", "--command-timeout=2s",
         "--insecure-skip-tls-verify", f"--cert={certificate}",
         f"--key={key}", "get", "--prefix", "/kamino"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False, timeout=patience(60))
    self.assertNotEqual(done.returncode, 0, done.stdout)
    self.assertIn("/kamino/local/", self.cluster.etcdctl(
        "get", "--prefix", "--keys-only", "/kamino"))
    # The servers refuse clients in the clear.
    done = self.run_program(
        self.cluster.binary("kamino"), f"--seeds={self.cluster.seeds}",
        "--timeout=2s", "get", "a")
    self.assertEqual(done.returncode, 3, done.stderr)
    # Messages of a manager that etcd refuses.
    self.cluster.certificates.pair("manager/stranger")
    log = os.path.join(self.folder, "stranger.log")
    # pylint: disable-next=protected-access
    command = self.cluster._manager_command("stranger",
                                            self.cluster.new_address("x"))
    words = [word for word in command if not word.startswith(
        ("--etcd_tls_cert", "--etcd_tls_key"))]
    for ports in ("admin", "web"):
      self.cluster.state[ports].pop("stranger")
    with open(log, "w", encoding="utf-8") as f:
      # pylint: disable-next=consider-using-with
      stranger = subprocess.Popen(words, stderr=f)
    self.addCleanup(stranger.wait)
    self.addCleanup(stranger.kill)
    def said():
      with open(log, encoding="utf-8") as f:
        return "no connection by TLS" in f.read()
    wait_until(said, PATIENCE_S, "the manager to say why it does not lead")
    stranger.kill()

  def read(self, address, path, who=None):
    context = ssl.create_default_context(
        cafile=self.cluster.certificates.authority)
    if who is not None:
      context.load_cert_chain(*self.cluster.certificates.pair(who))
    try:
      with urllib.request.urlopen(f"https://{address}{path}", context=context,
                                  timeout=patience(10)) as page:
        return page.status, page.read().decode()
    except urllib.error.HTTPError as error:
      return error.code, error.read().decode()

  def check_pages(self):
    pages = {name: ["/metrics"] for name in self.cluster.state["web"]}
    pages["manager"] += ["/", "/chain.json"]
    for name, paths in pages.items():
      address = self.cluster.state["web"][name]
      for probe in ("/livez", "/readyz"):
        self.assertEqual(self.read(address, probe), (200, "ok\n"))
      for path in paths:
        self.assertEqual(self.read(address, path)[0], 401, path)
        self.assertEqual(self.read(address, path, "writer/w")[0], 403, path)
        for who in ("reader/r", "operator/o"):
          self.assertEqual(self.read(address, path, who)[0], 200, path)
    with self.assertRaises(OSError):
      urllib.request.urlopen(
          f"http://{self.cluster.state['web']['n1']}/livez", timeout=patience(10))
    wait_until(self.page_sees_nodes, PATIENCE_S,
               "the page to have what the nodes say of themselves")

  def page_sees_nodes(self):
    """The manager asks the nodes under its own identity."""
    page = json.loads(self.read(self.cluster.state["web"]["manager"],
                                "/chain.json", "reader/r")[1])
    roles = [node["role"] for _, node in sorted(page["nodes"].items())]
    links = [link["transport"] for node in page["nodes"].values()
             for link in node["links"]]
    return (sorted(roles) == ["ROLE_HEAD", "ROLE_MIDDLE", "ROLE_TAIL"] and
            len(links) > 2)

  def check_etcds_user(self):
    """Enabled under a cluster that runs; tokens are gone with a restart of
    etcd's, and the password may change."""
    etcdctl = self.cluster.etcdctl
    etcdctl("role", "add", "root")
    etcdctl("role", "add", "kamino")
    etcdctl("role", "grant-permission", "kamino", "readwrite",
            "--prefix=true", "/kamino/")
    for user, password in (("root", "root"), ("kamino", PASSWORD)):
      etcdctl("user", "add", f"{user}:{password}")
      etcdctl("user", "grant-role", user, user)
    etcdctl("auth", "enable")
    before = self.revision()
    wait_until(lambda: self.revision() > before + 2, PATIENCE_S,
               "the manager to renew its leadership")
    self.cluster.kill("etcd")
    self.cluster.restart("etcd")
    before = self.revision()
    wait_until(lambda: self.revision() > before + 2, PATIENCE_S,
               "the manager to renew its leadership after etcd's restart")
    # A password that is only at etcd, at first.
    etcdctl("user", "passwd", "kamino", "--interactive=false", user="root:root",
            text="changed\n")
    wait_until(lambda: self.log_has(
        "manager", "it does not take user kamino with the password in "
        f"{self.cluster.password_file}"), PATIENCE_S,
               "the manager to say what is wrong")
    self.cluster.write_password("changed")
    wait_until(self.leads, PATIENCE_S, "the manager to lead again")
    self.kamino("put", "b", "2")

  def revision(self):
    """The store's revision, which each renewal increases; -1: no answer."""
    try:
      said = self.cluster.etcdctl("get", "-w", "json", "/kamino/x",
                                  user="root:root")
    except AssertionError:
      return -1
    return json.loads(said)["header"]["revision"]

  def check_renewal(self):
    """All pairs at once, under a load: no call fails, no process restarts."""
    self.open_bank()
    load = Load(self.cluster, count=6000)
    load.await_acked(500)
    self.cluster.certificates.renew()
    for name in ("manager", *self.cluster.nodes):
      wait_until(lambda n=name: self.log_has(n, "certificates have changed: "
                                             "own"), PATIENCE_S,
                 f"{name} to take the new pair")
    wait_until(lambda: self.log_has("manager",
                                    "certificates for etcd have changed"),
               PATIENCE_S, "the manager to take the new pair for etcd")
    self.check_bank(load)

  def check_restarts(self):
    """Of all, one after the other, with the new pairs."""
    for name in ("etcd", "manager", *self.cluster.nodes):
      self.cluster.kill(name)
      self.cluster.restart(name)
      if name not in ("etcd", "manager"):
        self.cluster.await_chain(self.cluster.nodes, PATIENCE_S)
    self.assertEqual(self.kamino("get", "a"), "1\n")

  def check_revocation(self):
    """Counts from when the list is there."""
    writer = self.cluster.certificates.flags("writer/leaves")
    words = [self.cluster.binary("kamino"), f"--seeds={self.cluster.seeds}",
             *writer, "--timeout=2s", "put", "c", "3"]
    self.assertEqual(self.run_program(*words).returncode, 0)
    self.cluster.certificates.revoke("writer/leaves")
    wait_until(lambda: self.run_program(*words).returncode != 0, PATIENCE_S,
               "the writer to be refused")
    self.kamino("put", "c", "4")


if __name__ == "__main__":
  main()
