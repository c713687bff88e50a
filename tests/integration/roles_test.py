"""Roles in a cluster with certificates."""

import json
import os
import re
import signal
import subprocess
import tarfile
import time

from harness import ClusterTest, main, wait_until
from local_cluster import LocalCluster

ROLES = """
[[grant]]
identity = "kamino://local/writer/scoped"
roles = ["writer"]
prefixes = ["a/"]
"""


# Outside of what scoped may touch. Keys of clients are in no log.
SECRET_KEY = "b/a-key-of-a-client"


class SecureCluster(LocalCluster):
  """Each program shows a certificate of its own."""

  roles = ROLES
  who = "reader/all"  # of the command line, where nothing else is said

  def trust(self, who=None):
    return super().trust(who or self.who)

  @property
  def audit_log(self):
    return os.path.join(self.folder, "audit.log")

  def start(self, **how):
    super().start(tls=True, manager_flags=[f"--audit_log={self.audit_log}"],
                  **how)


class RolesTest(ClusterTest):

  cluster_class = SecureCluster

  def run_as(self, who, *words, **expected):
    self.cluster.who = who
    try:
      return self.kamino(*words, **expected)
    finally:
      self.cluster.who = SecureCluster.who

  def denied_to(self, who, *words):
    self.cluster.who = who
    try:
      return self.cluster.kamino(*words, check=False)
    finally:
      self.cluster.who = SecureCluster.who

  def outcomes(self, name):
    """Who asked for the operators' call `name`, and the answer's code."""
    with open(self.cluster.audit_log, encoding="utf-8") as log:
      lines = [line for line in log if line.endswith("\n")]
    calls = [json.loads(line) for line in lines]
    return {(call["who"], call["outcome"]) for call in calls
            if call["call"].endswith(f"/{name}")}

  def await_denial(self, name, denied):
    """Calls `denied` until the audit log has that writer/all was denied `name`.

    The manager keeps five denials a second, and answers before it writes.
    """
    def audited():
      denied()
      return ("kamino://local/writer/all",
              "PERMISSION_DENIED") in self.outcomes(name)
    wait_until(audited, 20, f"the audit log to have the denial of {name}")

  def debug_dump(self, managers):
    """An operator gets all of it."""
    path = os.path.join(self.folder, "dump.tar.gz")
    self.run_as("operator/o", "debug", "dump", path, managers)
    with tarfile.open(path) as archive:
      files = {entry.name[len("kamino-debug/"):]:
               archive.extractfile(entry).read().decode() for entry in archive}
    self.assertEqual(files["missing.txt"], "")
    self.assertNotIn("PRIVATE KEY", "".join(files.values()))
    self.assertNotIn(SECRET_KEY, "".join(files.values()))
    metrics = files["nodes/n1/metrics.txt"]
    checked = subprocess.run(["promtool", "check", "metrics"], input=metrics,
                             text=True, capture_output=True, check=False)
    self.assertEqual((checked.returncode, checked.stderr), (0, ""))
    denied = re.search(
        r'^kamino_denied_calls_total\{reason="denied"\} (\d+)', metrics, re.M)
    self.assertGreater(int(denied.group(1)), 0)
    expires = re.search(
        r"^kamino_certificate_not_after_timestamp_seconds (\S+)", metrics, re.M)
    self.assertGreater(float(expires.group(1)), time.time())

  def denied_debug_dump(self, managers):
    """A writer gets none of it, and an error that says so."""
    path = os.path.join(self.folder, f"none.{time.monotonic_ns()}.tar.gz")
    self.cluster.who = "writer/all"
    done = self.cluster.kamino("debug", "dump", path, managers, check=False)
    self.cluster.who = SecureCluster.who
    self.assertEqual(done.returncode, 1)
    self.assertIn("nodes/n1 of ", done.stderr)
    self.assertIn("requires the role operator", done.stderr)
    self.assertRegex(done.stderr.splitlines()[-1],
                     "^kamino: .*; the call used the certificate .*: use "
                     "another one")

  def check_denied_status(self):
    """A whole chain is not shown as one that does not answer."""
    self.assertNotIn("not allowed", self.kamino("status"))
    done = self.denied_to("writer/all", "status")
    self.assertEqual(done.returncode, 1, done.stderr)
    rows = [line for line in done.stdout.splitlines() if line.startswith("n")]
    self.assertEqual([row.split()[0] for row in rows if "not allowed" in row],
                     ["n1", "n2", "n3", "n4", "not"])
    self.assertNotIn("unreachable", done.stdout)
    why = ("GetNodeStatus requires the role manager, operator or reader; "
           "kamino://local/writer/all has the role writer")
    self.assertIn(why, rows[-1])
    self.assertRegex(done.stderr, f"^kamino: .*{why}; so no node's state is "
                     r"known; the call used the certificate .*\n$")
    done = self.denied_to("writer/all", "status", "--json")
    self.assertEqual(done.returncode, 1)
    self.assertEqual(len(json.loads(done.stdout)["nodes"]), 4)
    self.assertEqual(json.loads(done.stderr)["error"]["code"],
                     "PERMISSION_DENIED")

  def test_roles(self):
    writer = "writer/all"
    self.run_as(writer, "put", "a/1", "one")
    self.run_as(writer, "put", "b/1", "two")
    denied = {"expect": 1, "stderr": "requires the role"}
    outside = {"expect": 1, "stderr": "outside of what this identity may"}

    # A reader reads, an operator looks, and neither writes.
    self.assertEqual(self.kamino("get", "b/1"), "two\n")
    self.kamino("put", "b/1", "x", **denied)
    self.run_as("operator/o", "put", "b/1", "x", **denied)

    self.check_denied_status()

    # A client that may touch some keys touches no others, whatever the carrier.
    scoped = "writer/scoped"
    self.assertEqual(self.run_as(scoped, "get", "a/1"), "one\n")
    self.run_as(scoped, "put", "a/2", "10")
    self.run_as(scoped, "get", "b/1", **outside)
    for how in ("tcp", "unary"):
      self.run_as(scoped, "get", SECRET_KEY, f"--carrier={how}", **outside)
    self.run_as(scoped, "put", SECRET_KEY, "x", **outside)
    # A denial says what to do, and does not count as a failure of a procedure.
    done = self.denied_to(scoped, "put", SECRET_KEY, "x")
    self.assertRegex(
        done.stderr, r'^kamino: the key "b/.*" is outside of what this '
        r'identity may touch, which is "a/"; the call used the certificate '
        r"\S+: use another one \(--tls_cert, --tls_key\), or have an operator "
        r"grant it in the servers' --roles\n$")
    self.run_as(scoped, "scan", "a/", SECRET_KEY, **outside)
    self.run_as(scoped, "scan", **outside)
    self.run_as(scoped, "scan", "a/", "b/2", **outside)
    self.assertEqual(self.run_as(scoped, "scan", "a/", "a0", "--keys_only"),
                     "a/1\na/2\n")
    self.run_as(scoped, "commit", "if", "value", "b/1", "two", "then", "put",
                "a/1", "x", **outside)
    self.run_as(writer, "put", "b/2", "10")
    self.run_as(scoped, "call", "bank.transfer", "b/2 a/2 5", **outside)
    self.assertEqual(self.kamino("scan"),
                     "a/1\tone\na/2\t10\nb/1\ttwo\nb/2\t10\n")

    # Operators have a port of their own, and what they do is kept.
    managers = f"--managers={','.join(self.cluster.operators_addresses)}"
    self.await_denial("GetCluster", lambda: self.run_as(
        writer, "admin", "status", managers, **denied))
    self.run_as("operator/o", "admin", "status", managers)
    self.run_as("operator/o", "admin", "add", "n9", managers)
    operator_may = ("kamino://local/operator/o", "OK")
    self.assertEqual(self.outcomes("AddNode"), {operator_may})

    for node in self.cluster.nodes:
      self.assertNotIn(SECRET_KEY, self.cluster.log_tail(node, 10**6))
    self.assertTrue(any(
        "denied to kamino://local/writer/scoped: " in
        self.cluster.log_tail(node, 10**6) for node in self.cluster.nodes))
    self.debug_dump(managers)
    self.assertEqual(self.outcomes("GetDebug"), {operator_may})
    self.await_denial("GetDebug", lambda: self.denied_debug_dump(managers))
    for node in self.cluster.nodes:
      self.assertIn("of this process to kamino://local/operator/o from ",
                    self.cluster.log_tail(node, 10**6))

    # Roles change while they run.
    self.cluster.certificates.write_roles(ROLES.replace("a/", "b/"))
    for node in self.cluster.nodes:
      self.cluster.kill(node, signal.SIGHUP)
    def changed():
      self.cluster.who = scoped
      done = self.cluster.kamino("get", "b/1", check=False)
      self.cluster.who = SecureCluster.who
      return done.returncode == 0
    wait_until(changed, 20, "the new roles to count")
    self.run_as(scoped, "get", "a/1", **outside)


if __name__ == "__main__":
  main()
