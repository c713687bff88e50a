"""kamino cert: authorities and certificates, as openssl reads them."""

import json
import os
import shutil
import stat
import subprocess
import tempfile
import unittest

from harness import Binaries, main, patience


class CertTest(unittest.TestCase):

  def setUp(self):
    self.folder = tempfile.mkdtemp(prefix="kamino-test-")
    self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
    self.program = Binaries().path("kamino")

  def path(self, *names):
    return os.path.join(self.folder, *names)

  def cert(self, *words, expect=0, stderr=None):
    done = subprocess.run(
        [self.program, "cert", *words], cwd=self.folder, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
        timeout=patience(60))
    self.assertEqual(done.returncode, expect, done.stderr)
    if stderr is not None:
      self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
      self.assertIn(stderr, done.stderr)
    return done.stdout

  def json(self, *words):
    return [json.loads(line)
            for line in self.cert(*words, "--json").splitlines()]

  def openssl(self, *words, check=True):
    done = subprocess.run(["openssl", *words], cwd=self.folder, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, timeout=patience(60))
    if check:
      self.assertEqual(done.returncode, 0, done.stdout)
    return done.stdout

  def names_of(self, file):
    return self.openssl("x509", "-in", file, "-noout", "-ext",
                        "subjectAltName,extendedKeyUsage")

  def make(self):
    self.cert("ca", "--cluster_id=shop")
    self.cert("ca", "--etcd", "--dir=etcd-ca")

  def test_an_authority(self):
    said = self.cert("ca", "--cluster_id=shop", "--days=30")
    self.assertIn("kamino-ca/ca.pem, kamino-ca/ca.key: ", said)
    self.assertEqual(stat.S_IMODE(os.stat(self.path("kamino-ca")).st_mode),
                     0o700)
    self.assertEqual(
        stat.S_IMODE(os.stat(self.path("kamino-ca", "ca.key")).st_mode), 0o600)
    [told] = self.json("show", "kamino-ca/ca.pem")
    self.assertEqual(told["holder"], 'authority "Kamino authority of shop"')
    self.assertTrue(told["authority"])
    with open(self.path("kamino-ca", "ca.key"), encoding="ascii") as f:
      key = f.read()
    # It is never replaced.
    self.cert("ca", "--cluster_id=shop", expect=1,
              stderr="kamino-ca/ca.pem is there already: another authority "
              "takes another folder")
    with open(self.path("kamino-ca", "ca.key"), encoding="ascii") as f:
      self.assertEqual(f.read(), key)
    self.cert("ca", "--dir=x", expect=2,
              stderr="either --cluster_id=NAME or --etcd is needed")
    self.cert("ca", "--dir=x", "--cluster_id=a/b", expect=2, stderr="a/b")
    self.cert("ca", "--dir=x", "--etcd", "--days=0", expect=2,
              stderr="--days")
    self.assertFalse(os.path.exists(self.path("x")))

  def test_certificates_of_all_kinds(self):
    self.make()
    for kind in ("node", "manager", "operator", "writer", "reader"):
      self.cert("issue", kind, "a.b-1", "--host=10.0.0.1,n1.example",
                "--host=::1")
      file = f"kamino-ca/{kind}-a.b-1.pem"
      self.assertIn(f"{file}: OK", self.openssl(
          "verify", "-CAfile", "kamino-ca/ca.pem", "-x509_strict", file))
      names = self.names_of(file)
      self.assertIn(f"URI:kamino://shop/{kind}/a.b-1", names)
      self.assertIn("IP Address:10.0.0.1, DNS:n1.example", names)
      self.assertEqual("TLS Web Server" in names, kind in ("node", "manager"))
      self.assertIn("TLS Web Client", names)
      key = self.path(f"kamino-ca/{kind}-a.b-1.key")
      self.assertEqual(stat.S_IMODE(os.stat(key).st_mode), 0o600)
    self.cert("issue", "etcd", "e1", "--host=10.0.0.1", "--dir=etcd-ca")
    self.cert("issue", "etcd-client", "m1", "--dir=etcd-ca")
    names = self.names_of("etcd-ca/etcd-e1.pem")
    self.assertNotIn("kamino://", names)
    self.assertIn("IP Address:10.0.0.1", names)
    self.assertIn("TLS Web Server", names)
    self.assertNotIn("TLS Web Server",
                     self.names_of("etcd-ca/etcd-client-m1.pem"))
    # etcd knows the user by this name.
    self.assertIn("CN = m1", self.openssl(
        "x509", "-in", "etcd-ca/etcd-client-m1.pem", "-noout", "-subject"))
    for of, in_folder in (("node", "etcd-ca"), ("etcd", "kamino-ca")):
      self.assertIn("error", self.openssl(
          "verify", "-CAfile", f"{in_folder}/ca.pem",
          f"kamino-ca/{of}-a.b-1.pem" if of == "node" else
          "etcd-ca/etcd-e1.pem", check=False))

  def test_invalid_certificates_are_not_issued(self):
    self.make()
    self.cert("issue", "king", "a", expect=2, stderr="king")
    self.cert("issue", "node", "a/b", expect=2, stderr="a/b")
    self.cert("issue", "node", "n1", "--host=no host", expect=2,
              stderr="\"no host\" is neither the name of a host nor")
    self.cert("issue", "etcd", "e1", "--host=h", expect=2,
              stderr="kamino-ca has the authority of cluster shop")
    self.cert("issue", "node", "n1", "--dir=etcd-ca", expect=2,
              stderr="etcd-ca has an authority for etcd")
    self.cert("issue", "etcd", "e1", "--dir=etcd-ca", expect=2,
              stderr="--host is missing")
    for host, why in (
        ("999.1.1.1", "no IPv4 address of four numbers up to 255"),
        ("1.2.3", "no IPv4 address of four decimal numbers, and a resolver "
         "takes it for 1.2.0.3: write that if it is meant")):
      self.cert("issue", "node", "n1", f"--host=10.0.0.1,{host}", expect=2,
                stderr=f"--host: {host} is {why}")
    self.cert("issue", "node", "n1", "--out=kamino-ca/ca.pem/x", expect=2,
              stderr="cannot make the folder kamino-ca/ca.pem/x")
    self.cert("list", "--dir=kamino-ca/ca.pem", expect=2,
              stderr="cannot read kamino-ca/ca.pem/ca.pem: Not a directory")
    self.cert("issue", "node", "n1", "--dir=none", expect=2,
              stderr="none has no authority (ca.pem and ca.key); kamino cert "
              "ca makes one")
    # Nothing is left of what failed.
    self.assertEqual(os.listdir(self.path("kamino-ca", "issued")), [])

  def test_pairs_in_other_folders_and_renewals(self):
    self.make()
    words = ("issue", "node", "n1", "--host=10.0.0.1", "--out=tls")
    [first] = self.json(*words)
    self.assertEqual(first["certificate_file"], "tls/node-n1.pem")
    self.assertEqual(sorted(os.listdir(self.path("tls"))),
                     ["ca.pem", "node-n1.key", "node-n1.pem"])
    self.cert(*words, expect=1, stderr="tls/node-n1.pem is there already; "
              "kamino cert renew gives its holder a new pair, --force")
    [forced] = self.json(*words, "--force")
    self.assertNotEqual(forced["serial"], first["serial"])
    [renewed] = self.json("renew", "tls/node-n1.pem", "--days=10")
    for name in ("holder", "hosts"):
      self.assertEqual(renewed[name], first[name])
    self.assertEqual(len({first["serial"], forced["serial"],
                          renewed["serial"]}), 3)
    # The pair fits.
    self.assertEqual(
        self.openssl("x509", "-in", "tls/node-n1.pem", "-noout", "-pubkey"),
        self.openssl("pkey", "-in", "tls/node-n1.key", "-pubout"))
    self.cert("renew", "kamino-ca/ca.pem", expect=2,
              stderr="is the authority's own")
    self.cert("renew", "tls/node-n1.pem", "--dir=etcd-ca", expect=2,
              stderr="is not of the authority in etcd-ca")
    # A certificate beside another authority's would not be believed.
    self.cert("issue", "etcd", "e1", "--host=h", "--dir=etcd-ca", "--out=tls",
              expect=1, stderr="tls/ca.pem is there already, and does not have "
              "the authority of etcd-ca")

  def test_long_cluster_ids(self):
    cluster = "c" * 48  # as long as a manager allows
    self.cert("ca", f"--cluster_id={cluster}")
    [node] = self.json("issue", "node", "n1")
    self.assertEqual(node["holder"], f"kamino://{cluster}/node/n1")

  def test_certificates_do_not_outlive_the_authority(self):
    self.cert("ca", "--cluster_id=shop", "--days=2")
    [authority] = self.json("show", "kamino-ca/ca.pem")
    [node] = self.json("issue", "node", "n1", "--days=365")
    self.assertEqual(node["not_after"], authority["not_after"])

  def test_certificates_are_revoked(self):
    self.make()
    [app] = self.json("issue", "writer", "app")
    [other] = self.json("issue", "reader", "other")
    self.cert("issue", "writer", "kept")
    said = self.cert("revoke", "kamino-ca/writer-app.pem")
    self.assertIn(f"kamino://shop/writer/app (certificate {app['serial']}) is "
                  "revoked by kamino-ca/crl/ca.crl", said)
    self.cert("revoke", other["serial"])
    for file, good in (("writer-app", False), ("reader-other", False),
                       ("writer-kept", True)):
      self.assertEqual("OK" in self.openssl(
          "verify", "-CAfile", "kamino-ca/ca.pem", "-crl_check", "-CRLfile",
          "kamino-ca/crl/ca.crl", f"kamino-ca/{file}.pem", check=False), good)
    states = {each["holder"]: each["state"] for each in self.json("list")}
    self.assertEqual(states, {
        "kamino://shop/reader/other": "certificate revoked",
        "kamino://shop/writer/app": "certificate revoked",
        "kamino://shop/writer/kept": "good"})
    self.assertEqual(len(self.cert("list").splitlines()), 4)
    # Revoking covers all pairs of the identity, including those from before a
    # renewal.
    [first] = self.json("issue", "writer", "leaves")
    self.cert("renew", "kamino-ca/writer-leaves.pem")
    said = self.cert("revoke", "kamino-ca/writer-leaves.pem")
    self.assertIn(f"(certificate {first['serial']}) is revoked", said)
    self.assertEqual(len(said.splitlines()), 2)
    self.assertEqual({each["state"] for each in self.json("list")
                      if each["holder"].endswith("/leaves")},
                     {"certificate revoked"})
    self.cert("revoke", "nothing", expect=2,
              stderr="nothing is neither a file nor the serial number")
    self.cert("revoke", "etcd-ca/ca.pem", expect=2,
              stderr="etcd-ca/ca.pem is not of this authority")

  def test_show(self):
    self.make()
    self.cert("issue", "node", "n1", "--host=n1.example")
    said = self.cert("show", "kamino-ca/node-n1.pem")
    for text in ("kamino://shop/node/n1", "n1.example", "server, client",
                 "Kamino authority of shop"):
      self.assertIn(text, said)
    fingerprint = self.openssl("x509", "-in", "kamino-ca/node-n1.pem",
                               "-noout", "-fingerprint", "-sha256")
    self.assertIn(fingerprint.split("=")[1].strip(), said)
    self.cert("show", "kamino-ca/node-n1.key", expect=2,
              stderr="kamino-ca/node-n1.key has no certificate in PEM")
    self.cert("show", "none.pem", expect=2, stderr="none.pem")


if __name__ == "__main__":
  main()
