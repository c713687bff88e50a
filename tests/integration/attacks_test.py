"""Attacks on the links of a real chain, and what each gets; the table is in
docs/operate/security.md."""

import base64
import json
import os
import subprocess

from harness import ROOT, ClusterTest, main, patience, wait_until
from roles_test import SecureCluster

ATTACKER = os.path.join(ROOT, "bazel-bin/tests/integration/attacker")
# All there are, as the protocol has them.
KINDS = subprocess.run([ATTACKER, "--list_kinds"], stdout=subprocess.PIPE,
                       text=True, check=True).stdout.split()


# A pause of the machine must not change the view, because the tests show that
# attacks do not. A node that an attack stops would still be expelled before
# the next put ends.
START = {"nodes": 3, "transport": "tcp", "failure_timeout_ms": 8000}


def text_bytes(encoded):
  """Bytes of JSON, as protocol buffers have them in text."""
  return "".join(f"\\x{byte:02x}" for byte in base64.b64decode(encoded))


class Attacks:
  """Base of the tests: an attacker that knows everything."""

  def status(self):
    managers = ",".join(self.cluster.addresses_of(self.cluster.managers))
    return json.loads(self.kamino("admin", "status", "--json",
                                  f"--managers={managers}"))

  def setUp(self):
    super().setUp()
    self.put("before", "1")
    self.look()

  def look(self):
    self.known = self.status()
    self.members = [node for node in self.known["nodes"]
                    if node["member"].get("role") != "outside"]

  def put(self, key, value):
    self.kamino("put", key, value)

  def hello(self, member, purpose, **changes):
    """A hello as that member sends it, except for the changes."""
    node = self.members[member]
    instance = node["member"]["instance"]
    fields = {
        "cluster_id": f'"{self.known["cluster_id"]}"',
        "node_id": f'"{node["member"]["node_id"]}"',
        "purpose": f"LINK_PURPOSE_{purpose}",
        "heap_bytes": instance["heap_bytes"],
        "applied": node["report"]["cursors"].get("applied", 0),
        "cleaned": node["report"]["cursors"].get("cleaned", 0),
        "cluster_uuid": f'"{text_bytes(node["report"]["cluster_uuid"])}"',
        "epoch": node["report"]["epoch"],
        "incarnation": int(instance["incarnation"]),
    }
    view = changes.pop("view", self.known["view_id"])
    fields.update(changes)
    words = [f"{name}: {value}" for name, value in fields.items()]
    for name, term in instance.get("agreement_ranges", {}).items():
      low, high = term.get("low", 0), term.get("high", 0)
      words.append(f'agreement_ranges {{ key: "{name}" value {{ '
                   f'low: {low} high: {high} }} }}')
    return f"view_id: {view} chain_id: 1 hello {{ {' '.join(words)} }}"

  def message(self, kind, payload=b""):
    return (f"view_id: {self.known['view_id']} chain_id: 1 {kind} {{ }}"
            f"\t{payload.hex()}")

  def attack(self, member, *frames, who=(), wait_ms=2500):
    """The lines that the attacker prints."""
    instance = self.members[member]["member"]["instance"]
    path = os.path.join(self.folder, "frames")
    with open(path, "w", encoding="ascii") as f:
      f.write("\n".join(frames) + "\n")
    done = subprocess.run(
        [ATTACKER, f"--address={instance['link_addresses']['tcp']}",
         f"--frames={path}", f"--wait_ms={wait_ms}", *who],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True,
        timeout=patience(60))
    return done.stdout.splitlines()

  def assert_gets_nothing(self, lines):
    for line in lines:
      self.assertFalse(line.startswith("heard") and " reject " not in line,
                       lines)

  def assert_serves(self):
    """Writes go on, with the same members, in the same view."""
    self.put("after", "2")
    self.assertEqual(self.kamino("get", "after"), "2\n")
    now = self.status()
    self.assertEqual(now["view_id"], self.known["view_id"])
    for node, before in zip(now["nodes"], self.known["nodes"]):
      self.assertEqual(node["member"]["instance"]["incarnation"],
                       before["member"]["instance"]["incarnation"])


class InTheClearTest(Attacks, ClusterTest):

  # All links over tcp, as the attacker's.
  start = START

  def test_former_lives_and_strangers_displace_nothing(self):
    head = int(self.members[0]["member"]["instance"]["incarnation"])
    for changes in ({"incarnation": head - 1}, {"incarnation": 0},
                    {"node_id": '"eve"'}, {"cluster_id": '"other"'},
                    {"epoch": 9}, {"view": int(self.known["view_id"]) - 1},
                    {"heap_bytes": 64}):
      self.assert_gets_nothing(self.attack(
          1, self.hello(0, "APPEND", **changes), wait_ms=500))
    self.assert_gets_nothing(self.attack(
        0, self.hello(2, "COMPLETION", incarnation=1), wait_ms=500))
    self.assert_serves()

  def test_a_message_before_the_hello_closes_the_link(self):
    self.assertIn("append", KINDS)
    for kind in KINDS:
      if kind == "hello":
        continue
      for member in range(3):
        lines = self.attack(member, self.message(kind), wait_ms=5000)
        self.assertTrue(lines[-1].startswith("closed"), (kind, lines))
        self.assert_gets_nothing(lines)
    lines = self.attack(1, "raw\tffffffff00", wait_ms=5000)
    self.assertTrue(lines[-1].startswith("closed"), lines)
    self.assert_serves()

  def test_one_bad_append_ends_its_link_alone(self):
    # In the clear, an attacker that knows everything is taken for the member.
    for payload in (b"", b"x" * 200):
      def is_taken():
        # It has to say what the member holds by now.
        self.look()
        lines = self.attack(1, self.hello(0, "APPEND"),
                            self.message("append", payload), wait_ms=5000)
        self.assertTrue(lines[-1].startswith("closed"), lines)
        return any(" sync " in line for line in lines)
      wait_until(is_taken, 30, "it is taken for the member")
      self.assert_serves()
    node = self.members[1]["member"]["node_id"]
    self.assertIn("ended a link with the predecessor",
                  self.cluster.log_tail(node, 400))

  def test_without_tls_any_peer_can_read_the_heap(self):
    lines = self.attack(2, self.hello(
        0, "TRANSFER", node_id='"eve"', incarnation=7), wait_ms=3000)
    self.assertTrue(any(" state_chunk " in line for line in lines), lines[:9])
    wait_until(lambda: self.cluster.kamino("put", "a", "1", check=False
                                           ).returncode == 0, 30, "writes")


class WithCertificatesTest(Attacks, ClusterTest):

  cluster_class = SecureCluster
  start = START

  def status(self):
    self.cluster.who = "operator/o"
    managers = ",".join(self.cluster.operators_addresses)
    try:
      return json.loads(self.kamino("admin", "status", "--json",
                                    f"--managers={managers}"))
    finally:
      self.cluster.who = SecureCluster.who

  def put(self, key, value):
    self.cluster.who = "writer/all"
    try:
      self.kamino("put", key, value)
    finally:
      self.cluster.who = SecureCluster.who

  def showing(self, who):
    return [word.replace("--tls_", "--attacker_")
            for word in self.cluster.certificates.flags(who)
            if "crl_dir" not in word]

  def test_the_view_has_the_identities_of_members(self):
    for node in self.members:
      self.assertEqual(node["member"]["instance"]["identity"],
                       f"kamino://local/node/{node['member']['node_id']}")

  def test_only_members_get_data(self):
    strangers = [(), self.showing("writer/all"), self.showing("node/n9"),
                 self.showing("operator/o")]
    for who in strangers:
      for member, hello in (
          (2, self.hello(0, "TRANSFER", node_id='"eve"', incarnation=7)),
          (1, self.hello(0, "APPEND")), (0, self.hello(2, "COMPLETION"))):
        self.assert_gets_nothing(self.attack(
            member, hello, self.message("append", b"x"), who=who, wait_ms=700))
    # A member's own certificate does not pass for another member, or a former
    # self.
    own = self.showing("node/n1")
    head = int(self.members[0]["member"]["instance"]["incarnation"])
    for hello in (self.hello(1, "APPEND"),
                  self.hello(0, "APPEND", incarnation=head - 1),
                  self.hello(0, "TRANSFER", node_id='"n4"')):
      self.assert_gets_nothing(self.attack(2, hello, who=own, wait_ms=700))
      self.assert_gets_nothing(self.attack(1, hello, who=own, wait_ms=700))
    self.assert_serves()


if __name__ == "__main__":
  main()
