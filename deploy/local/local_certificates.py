"""Certificates of a local cluster, made by `kamino cert`."""

import os
import subprocess

from processes import ClusterError

# Identity of the command line: it may do everything, as in the clear.
OPERATOR = "operator/local"
ROLES = """[[grant]]
identity = "kamino://*/operator/local"
roles = ["operator", "writer", "reader"]
"""


class LocalCertificates:
  """An authority of the cluster's, and one of its etcd's.

  Args:
    folder: where they and all certificates are.
    kamino: path of the program.
  """

  def __init__(self, folder, kamino):
    self.folder = folder
    self._kamino = kamino
    self._etcd = os.path.join(folder, "etcd")

  def make(self, cluster_id, roles=ROLES):
    self._cert("ca", f"--cluster_id={cluster_id}", f"--dir={self.folder}")
    self._cert("ca", "--etcd", f"--dir={self._etcd}")
    self.write_roles(roles)

  def write_roles(self, text):
    with open(self.roles, "w", encoding="utf-8") as f:
      f.write(text)

  @property
  def roles(self):
    return os.path.join(self.folder, "roles.toml")

  @property
  def authority(self):
    return os.path.join(self.folder, "ca.pem")

  @property
  def revoked(self):
    return os.path.join(self.folder, "crl")

  def pair(self, who):
    """Paths of the certificate and the key of ROLE/NAME; made if need be."""
    return self._pair(self.folder, who)

  def flags(self, who):
    """Flags of a program with the identity `who`, ROLE/NAME."""
    certificate, key = self.pair(who)
    return [f"--tls_cert={certificate}", f"--tls_key={key}",
            f"--tls_ca={self.authority}", f"--tls_crl_dir={self.revoked}"]

  def environment(self, who):
    """The same as environment variables of the command line."""
    certificate, key = self.pair(who)
    return {"KAMINO_TLS_CERT": certificate, "KAMINO_TLS_KEY": key,
            "KAMINO_TLS_CA": self.authority,
            "KAMINO_TLS_CRL_DIR": self.revoked}

  def flags_of_etcd(self):
    """All of etcd's; etcd refuses clients without a certificate."""
    certificate, key = self._pair(self._etcd, "etcd/e")
    authority = os.path.join(self._etcd, "ca.pem")
    return [flag for prefix in ("", "peer-") for flag in (
        f"--{prefix}cert-file={certificate}", f"--{prefix}key-file={key}",
        f"--{prefix}trusted-ca-file={authority}",
        f"--{prefix}client-cert-auth")]

  def flags_to_etcd(self, name):
    """Flags with which etcd admits the manager."""
    certificate, key = self._pair(self._etcd, f"etcd-client/{name}")
    return [f"--etcd_tls_cert={certificate}", f"--etcd_tls_key={key}",
            f"--etcd_tls_ca={os.path.join(self._etcd, 'ca.pem')}"]

  def renew(self):
    """Renews all pairs; running processes take them on."""
    for folder in (self.folder, self._etcd):
      self._cert("renew", f"--dir={folder}",
                 *[os.path.join(folder, name) for name in os.listdir(folder)
                   if name.endswith(".pem") and name != "ca.pem"])

  def revoke(self, who):
    self._cert("revoke", f"--dir={self.folder}", self.pair(who)[0])

  def _pair(self, folder, who):
    kind, name = who.split("/")
    stem = os.path.join(folder, f"{kind}-{name}")
    if not os.path.exists(stem + ".pem"):
      self._cert("issue", kind, name, f"--dir={folder}", "--host=127.0.0.1",
                 "--host=localhost")
    return stem + ".pem", stem + ".key"

  def _cert(self, *words):
    done = subprocess.run([self._kamino, "cert", *words],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False, timeout=60)
    if done.returncode != 0:
      raise ClusterError(f"kamino cert {words[0]}: {done.stderr.strip()}")
