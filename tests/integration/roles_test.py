"""Roles in a cluster with certificates: who may do what."""

import json
import os
import signal
import subprocess

from harness import ClusterTest, main, wait_until
from local_cluster import LocalCluster

ROLES = """
[[grant]]
identity = "kamino://local/writer/scoped"
roles = ["writer"]
prefixes = ["a/"]
"""


def openssl(*words):
  subprocess.run(["openssl", *words], check=True, capture_output=True)


class SecureCluster(LocalCluster):
  """Each program shows a certificate of its own."""

  who = "reader/all"  # of the command line, where nothing else is said

  def folder_of(self, what):
    folder = os.path.join(os.path.dirname(self.folder), "certificates")
    os.makedirs(folder, exist_ok=True)
    return os.path.join(folder, what)

  def certificate(self, who):
    """Flags of who has one; made when it is first asked for."""
    authority, key = self.folder_of("ca.pem"), self.folder_of("ca.key")
    if not os.path.exists(authority):
      openssl("req", "-x509", "-newkey", "ec", "-pkeyopt",
              "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=test",
              "-days", "1", "-keyout", key, "-out", authority)
    own = self.folder_of(who.replace("/", "-"))
    if not os.path.exists(own + ".pem"):
      openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
              "-nodes", "-subj", "/CN=any", "-keyout", own + ".key", "-out",
              own + ".csr")
      with open(own + ".ext", "w", encoding="utf-8") as extensions:
        extensions.write(
            f"subjectAltName=URI:kamino://{self.state['cluster_id']}/{who}\n"
            "extendedKeyUsage=serverAuth,clientAuth\n")
      openssl("x509", "-req", "-in", own + ".csr", "-CA", authority, "-CAkey",
              key, "-CAcreateserial", "-days", "1", "-extfile", own + ".ext",
              "-out", own + ".pem")
    return [f"--tls_cert={own}.pem", f"--tls_key={own}.key",
            f"--tls_ca={authority}"]

  def write_roles(self, text):
    with open(self.folder_of("roles.toml"), "w", encoding="utf-8") as roles:
      roles.write(text)

  def start(self, **how):
    self.write_roles(ROLES)
    super().start(**how)

  def trust(self):
    return self.certificate(self.who)

  def own(self, command, who):
    """A server's flags, with its own certificate."""
    return [word for word in command if not word.startswith("--tls_")] + [
        *self.certificate(who), f"--roles={self.folder_of('roles.toml')}"]

  def _manager_command(self, name, address):
    self.admin = self.new_address(name)
    return self.own(super()._manager_command(name, address), f"manager/{name}"
                    ) + [f"--admin_listen={self.admin}",
                         f"--audit_log={self.folder_of('audit.log')}"]

  def node_command(self, name, address):
    return self.own(super().node_command(name, address), f"node/{name}")


class RolesTest(ClusterTest):

  cluster_class = SecureCluster

  def as_who(self, who, *words, **expected):
    self.cluster.who = who
    try:
      return self.kamino(*words, **expected)
    finally:
      self.cluster.who = SecureCluster.who

  def test_roles(self):
    writer = "writer/all"
    self.as_who(writer, "put", "a/1", "one")
    self.as_who(writer, "put", "b/1", "two")
    denied = {"expect": 1, "stderr": "is for who is"}
    outside = {"expect": 1, "stderr": "outside of what this identity may"}

    # A reader reads, an operator looks, and neither writes.
    self.assertEqual(self.kamino("get", "b/1"), "two\n")
    self.kamino("put", "b/1", "x", **denied)
    self.as_who("operator/o", "put", "b/1", "x", **denied)

    # Whoever has some keys has no others, whatever the way.
    scoped = "writer/scoped"
    self.assertEqual(self.as_who(scoped, "get", "a/1"), "one\n")
    self.as_who(scoped, "put", "a/2", "10")
    self.as_who(scoped, "get", "b/1", **outside)
    self.as_who(scoped, "scan", **outside)
    self.as_who(scoped, "scan", "a/", "b/2", **outside)
    self.assertEqual(self.as_who(scoped, "scan", "a/", "a0", "--keys_only"),
                     "a/1\na/2\n")
    self.as_who(scoped, "commit", "if", "value", "b/1", "two", "then", "put",
                "a/1", "x", **outside)
    self.as_who(writer, "put", "b/2", "10")
    self.as_who(scoped, "call", "bank.transfer", "b/2 a/2 5", **outside)
    self.assertEqual(self.kamino("scan"),
                     "a/1\tone\na/2\t10\nb/1\ttwo\nb/2\t10\n")

    # Operators have a port of their own, and what they do is kept.
    managers = f"--managers={self.cluster.admin}"
    self.as_who(writer, "admin", "status", managers, **denied)
    self.as_who("operator/o", "admin", "status", managers)
    self.as_who("operator/o", "admin", "add", "n9", managers)
    with open(self.cluster.folder_of("audit.log"), encoding="utf-8") as log:
      calls = [json.loads(line) for line in log]
    kept = [(call["who"], call["call"].rpartition("/")[2], call["outcome"])
            for call in calls]
    self.assertIn(("kamino://local/operator/o", "AddNode", "OK"), kept)
    self.assertIn(
        ("kamino://local/writer/all", "GetCluster", "PERMISSION_DENIED"), kept)

    # Roles change while they run.
    self.cluster.write_roles(ROLES.replace("a/", "b/"))
    for node in self.cluster.nodes:
      self.cluster.kill(node, signal.SIGHUP)
    def changed():
      self.cluster.who = scoped
      done = self.cluster.kamino("get", "b/1", check=False)
      self.cluster.who = SecureCluster.who
      return done.returncode == 0
    wait_until(changed, 20, "the new roles to count")
    self.as_who(scoped, "get", "a/1", **outside)


if __name__ == "__main__":
  main()
