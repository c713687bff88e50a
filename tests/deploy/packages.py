#!/usr/bin/env python3
"""Installs, starts, upgrades and purges the Debian packages, in a container
that a real systemd runs. As root; `make deb` has built them."""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from debian_machine import Machine, MachineError, await_true, base, run

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.realpath(__file__))))
OUT = os.path.join(ROOT, "deploy", "out")
QUICKSTART = os.path.join(
    ROOT, "docs", "operate", "quickstart_production.md")
NODES = ("n1", "n2", "n3")
PATIENCE_S = 60
NEWER = "99"  # a version that comes after this one

CONFIGURATION = """cluster_id = "shop"

[manager]
listen = "127.0.0.1:7000"
admin_listen = "127.0.0.1:7005"
audit_log = "/var/log/kamino/audit.log"
web_listen = "127.0.0.1:9100"
tls_cert = "/etc/kamino/tls/manager-m1.pem"
tls_key = "/etc/kamino/tls/manager-m1.key"
tls_ca = "/etc/kamino/tls/ca.pem"
etcd = ["127.0.0.1:2379"]
etcd_tls_cert = "/etc/kamino/tls/etcd/etcd-client-m1.pem"
etcd_tls_key = "/etc/kamino/tls/etcd/etcd-client-m1.key"
etcd_tls_ca = "/etc/kamino/tls/etcd/ca.pem"
chain_length = 3

[node]
tls_ca = "/etc/kamino/tls/ca.pem"
managers = ["127.0.0.1:7000"]
heap_mb = 32
ring_mb = 16
pmem = "force"

[clusters.shop]
seeds = ["127.0.0.1:7001", "127.0.0.1:7002", "127.0.0.1:7003"]
managers = ["127.0.0.1:7005"]
"""
NODE_FLAGS = """KAMINO_NODE_FLAGS=--listen=127.0.0.1:{port} \
--tls_cert=/etc/kamino/tls/node-{name}.pem \
--tls_key=/etc/kamino/tls/node-{name}.key
"""
ETCD = """ETCD_NAME=e1
ETCD_LISTEN_CLIENT_URLS=https://127.0.0.1:2379
ETCD_ADVERTISE_CLIENT_URLS=https://127.0.0.1:2379
ETCD_CERT_FILE=/etc/etcd/etcd-e1.pem
ETCD_KEY_FILE=/etc/etcd/etcd-e1.key
ETCD_TRUSTED_CA_FILE=/etc/etcd/ca.pem
ETCD_CLIENT_CERT_AUTH=true
"""


def package(name):
  found = glob.glob(os.path.join(OUT, f"{name}_*.deb"))
  if len(found) != 1:
    raise MachineError(f"{OUT} has {len(found)} packages {name}; make deb "
                       "makes one")
  return found[0]


def depends(path):
  """Names of the packages that one needs, the first of alternatives."""
  text = run("dpkg-deb", "--field", path, "Depends")
  return [re.match(r"\s*([a-z0-9.+-]+)", each).group(1)
          for each in text.split(",")]


def made_newer(path, folder):
  """The same package, with a later version."""
  tree = os.path.join(folder, "newer")
  run("dpkg-deb", "--raw-extract", path, tree)
  control = os.path.join(tree, "DEBIAN", "control")
  with open(control, encoding="utf-8") as f:
    text = re.sub(r"(?m)^Version: .*$", f"Version: {NEWER}", f.read())
  with open(control, "w", encoding="utf-8") as f:
    f.write(text.replace("(= ", "(<= "))
  target = os.path.join(folder, os.path.basename(path))
  run("dpkg-deb", "--build", "--root-owner-group", tree, target)
  shutil.rmtree(tree)
  return target


class PackagesTest(unittest.TestCase):

  def setUp(self):
    self.folder = tempfile.mkdtemp(prefix="kamino-deb-", dir="/var/tmp")
    self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
    self.packages = [package("kamino-server"), package("kamino-client")]

  def test_lintian_finds_no_problem(self):
    done = subprocess.run(
        ["lintian", "--fail-on=error,warning", "--allow-root", *self.packages],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False)
    self.assertEqual((done.returncode, done.stdout), (0, ""))

  def boot(self):
    needed = {d for path in self.packages for d in depends(path)}
    archive = base(sorted({"systemd", "systemd-sysv", "dbus", "etcd-server",
                           "curl", "logrotate", *needed}))
    self.machine = Machine(self.folder, archive)
    self.addCleanup(self.machine.stop)
    self.machine.boot()

  def test_quickstart(self):
    """Follows docs/operate/quickstart_production.md line by line."""
    self.boot()
    for path in self.packages:
      shutil.copy(path, self.machine.path("/srv"))
    with open(QUICKSTART, encoding="utf-8") as f:
      text = f.read().split("\n## On several machines")[0]
    lines = "".join(re.findall(r"(?ms)^```\n(.*?)^```$", text))
    # There is no network, and etcd is there.
    for words in ("apt-get update\n", " etcd-server"):
      self.assertIn(words, lines)
      lines = lines.replace(words, "", 1)
    self.machine.write("/srv/lines", "cd; cp /srv/*.deb .\n" + lines)
    said = self.machine.run("bash", "-v", "/srv/lines", check=False,
                            timeout=600)
    position = 0
    for expected in (
        "/etc/kamino/kamino.toml is right", "cluster shop, view 1",
        "ok, version 2", "hello", "Put requires the role writer",
        "cluster shop, view 1, manager", "kamino://shop/operator/ann", "ok\n",
        'role="head"} 1', "ok, version 3", "again", "n2    head",
        "node/n4, until", "etcd e1, until", "certificates have changed: own",
        "is revoked by kamino-ca/crl/ca.crl"):
      found = said.find(expected, position)
      self.assertGreaterEqual(found, 0, f"{expected}, in:\n{said}")
      position = found + len(expected)
    # A client whose certificate is revoked writes nothing.
    self.assertNotIn("ok, version", said[position:])
    self.assertIn("kamino: ", said[position:])

  def test_life(self):
    self.boot()
    try:
      self.install()
      self.start()
      self.hang()
      self.upgrade()
      self.purge()
    except BaseException:
      print(self.machine.run("journalctl", "--no-pager", "-n60", check=False))
      raise

  def dpkg(self, *paths):
    for path in paths:
      shutil.copy(path, self.machine.path("/var/tmp"))
    self.machine.run("dpkg", "--install",
                     *[f"/var/tmp/{os.path.basename(p)}" for p in paths])

  def kamino(self, *words, who="writer-app", check=True):
    pair = f"/srv/kamino-ca/{who}"
    return self.machine.run(
        "kamino", *words, "--config=/etc/kamino/kamino.toml", "--cluster=shop",
        f"--tls_cert={pair}.pem", f"--tls_key={pair}.key",
        "--tls_ca=/srv/kamino-ca/ca.pem", check=check)

  def cert(self, *words, of="kamino"):
    self.machine.run("kamino", "cert", *words, f"--dir=/srv/{of}-ca")

  def make_certificates(self):
    """Follows the quickstart: files belong to the users that read them."""
    self.machine.run("install", "-d", "-o", "etcd", "-g", "etcd", "-m", "0750",
                     "/etc/etcd")
    self.machine.run("install", "-d", "-o", "kamino", "-g", "kamino", "-m",
                     "0750", "/etc/kamino/tls/etcd")
    self.cert("ca", "--cluster_id=shop")
    self.cert("ca", "--etcd", of="etcd")
    self.cert("issue", "etcd", "e1", "--host=127.0.0.1", "--out=/etc/etcd",
              of="etcd")
    self.cert("issue", "etcd-client", "m1", "--out=/etc/kamino/tls/etcd",
              of="etcd")
    for kind, name in (("manager", "m1"), *[("node", n) for n in NODES]):
      self.cert("issue", kind, name, "--host=127.0.0.1",
                "--out=/etc/kamino/tls")
    for kind, name in (("writer", "app"), ("operator", "ann"),
                       ("reader", "eve")):
      self.cert("issue", kind, name)
    for path in ("/etc/kamino/tls/node-n1.key", "/etc/etcd/etcd-e1.key"):
      self.assertEqual(
          self.machine.run("stat", "--format=%a", path).strip(), "600")

  def unit(self, name, what):
    return self.machine.run("systemctl", "show", "--value",
                            f"--property={what}", name).strip()

  def pid(self, name):
    return self.unit(name, "MainPID")

  def install(self):
    self.dpkg(*self.packages)
    self.machine.run("systemd-analyze", "verify", "--man=no",
                     "kamino-manager.service", "kamino-node@n1.service")
    self.assertIn("/var/lib/kamino", self.machine.run("getent", "passwd",
                                                      "kamino"))
    # Without a configuration nothing starts, and systemd says why.
    done = self.machine.run("systemctl", "start", "kamino-manager", check=False)
    self.assertIn("Assertion failed", done)

  def start(self):
    self.make_certificates()
    self.machine.write("/etc/kamino/kamino.toml", CONFIGURATION)
    for i, name in enumerate(NODES, 1):
      self.machine.write(f"/etc/kamino/node-{name}.env",
                         NODE_FLAGS.format(port=7000 + i, name=name))
    self.machine.write("/etc/default/etcd", ETCD)
    self.machine.run("systemctl", "restart", "etcd")
    # Each returns once the service says that it is ready.
    self.machine.run("systemctl", "enable", "--now", "kamino-manager",
                     *[f"kamino-node@{n}" for n in NODES])
    self.await_chain()
    self.kamino("put", "greeting", "hello")
    self.check_data()
    for unit in ("kamino-manager", *[f"kamino-node@{n}" for n in NODES]):
      self.assertEqual(self.unit(unit, "ActiveState"), "active")
      status = f"/proc/{self.pid(unit)}/status"
      self.assertRegex(self.machine.run("cat", status), r"NoNewPrivs:\s1")
      owner = self.machine.run("stat", "--format=%U", status).strip()
      self.assertEqual(owner, "kamino")
    self.assertIn("serves on 127.0.0.1:7001", self.unit("kamino-node@n1",
                                                        "StatusText"))
    # Whether it can be had is the machine's; this one may not raise limits.
    self.assertEqual(self.unit("kamino-node@n1", "LimitMEMLOCK"), "infinity")
    self.machine.run("systemctl", "reload", "kamino-manager", "kamino-node@n1")
    # Roles, and what is kept of operators' calls.
    self.assertIn("requires the role writer",
                  self.kamino("put", "a", "b", who="reader-eve", check=False))
    self.kamino("admin", "status", who="operator-ann")
    def audited():
      return "kamino://shop/operator/ann" in self.machine.run(
          "cat", "/var/log/kamino/audit.log")
    await_true(audited, PATIENCE_S, "the audit log")
    self.machine.run("logrotate", "--force", "/etc/logrotate.d/kamino-server")

  def await_chain(self):
    def whole():
      lines = self.kamino("status", "--json", "--timeout=2s", who="reader-eve",
                          check=False)
      return lines.count('"lease_valid":true') == len(NODES)
    await_true(whole, PATIENCE_S, "the chain to be whole")

  def check_data(self):
    self.assertEqual(self.kamino("get", "greeting").strip(), "hello")

  def hang(self):
    """A node that does not go on is started anew."""
    unit = "kamino-node@n3"
    folder = f"/etc/systemd/system/{unit}.service.d"
    self.machine.run("mkdir", folder)
    self.machine.write(f"{folder}/soon.conf", "[Service]\nWatchdogSec=3\n")
    self.machine.run("systemctl", "daemon-reload")
    self.machine.run("systemctl", "restart", unit)
    before = self.pid(unit)
    self.machine.run("kill", "-STOP", before)
    await_true(lambda: self.unit(unit, "NRestarts") == "1" and
               self.pid(unit) not in (before, "0"), PATIENCE_S,
               "the watchdog")
    self.await_chain()

  def upgrade(self):
    """An upgrade restarts one node after the other."""
    before = {n: self.pid(f"kamino-node@{n}") for n in NODES}
    self.dpkg(made_newer(self.packages[0], self.folder))
    self.assertEqual(before, {n: self.pid(f"kamino-node@{n}") for n in NODES})
    self.assertIn(f"Version: {NEWER}",
                  self.machine.run("dpkg", "-s", "kamino-server"))
    self.machine.run("systemctl", "restart", "kamino-manager")
    for name in NODES:
      self.machine.run("systemctl", "restart", f"kamino-node@{name}")
      self.await_chain()
      self.check_data()

  def purge(self):
    said = self.machine.run("apt-get", "purge", "-y", "kamino-server",
                            "kamino-client")
    self.assertIn("the nodes' data stays in /var/lib/kamino", said)
    self.assertTrue(os.path.exists(
        self.machine.path("/var/lib/kamino/n1/heap.pmem")))
    self.assertEqual(self.machine.run("pgrep", "kamino", check=False), "")
    left = self.machine.run("find", "/usr", "/lib", "/etc/systemd", "-xdev",
                            "-name", "*kamino*", "-not", "-path",
                            "*.service.d*").split()
    # Links of `systemctl enable` are systemd's own.
    self.assertEqual([l for l in left if ".wants/" not in l], [])


def main():
  if os.geteuid() != 0:
    sys.exit("test-deb: needs root, for a container")
  unittest.main(verbosity=2)


if __name__ == "__main__":
  main()
