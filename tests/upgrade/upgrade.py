#!/usr/bin/env python3
"""Mixes releases and upgrades from one to the next, under load.

From the last release to this tree, and from this tree to one that can more
(next_release.patch). Nodes and managers are exchanged one after the other, back
and on again; what is new is finalized; nothing acknowledged may be lost.
"""

import argparse
import json
import os
import signal
import sys
import threading

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "integration"))
sys.path.insert(0, HERE)
# pylint: disable=wrong-import-position
import unittest

import releases
from harness import ClusterError, ClusterTest, Load, wait_until

NEW_FUNCTION = "procedure bank.transfer2"  # of next_release.patch
JOIN_S = 60


class Programs:
  """Like deploy/local/binaries.Binaries, for any release."""

  def __init__(self, root):
    self.root = root

  def path(self, name):
    folder = {"kamino": "client/cli", "kamino_manager": "membership",
              "kamino_node": "node"}[name]
    return os.path.join(self.root, folder, name)


class Loads(threading.Thread):
  """Loads one after the other, until it is stopped."""

  def __init__(self, cluster):
    super().__init__(daemon=True)
    self.cluster = cluster
    self.loads = []
    self.stopping = threading.Event()
    self.start()

  def run(self):
    while not self.stopping.is_set():
      self.loads.append(Load(self.cluster, count=2000,
                             log=f"load{len(self.loads)}.log"))
      self.loads[-1].join()

  def await_more(self, count):
    """Until so many more are acknowledged."""
    def acked():
      return sum(load.acked() for load in list(self.loads))
    before = acked()
    wait_until(lambda: acked() >= before + count, JOIN_S,
               f"{count} more transfers")

  def stop(self):
    """All of them, ended."""
    self.stopping.set()
    self.join()
    return self.loads


class UpgradeTest(ClusterTest):
  """From `old` to `new`; `brings`: whether the latter has a new feature
  level."""

  start = {"managers": 2}
  old = None
  new = None
  brings = False

  def programs(self):
    return Programs(self.old)

  def exchange(self, name, root):
    """Stops a process in order, and starts it as another release."""
    self.cluster.kill(name, signal.SIGTERM)
    self.cluster.binaries = Programs(root)
    self.cluster.restart(name)
    if name.startswith("n"):
      self.cluster.await_chain(self.cluster.nodes, JOIN_S)

  def admin(self, *words, expect=0, stderr=None):
    self.cluster.binaries = Programs(self.new)
    managers = ",".join(self.cluster.addresses_of(self.cluster.managers))
    return self.kamino("admin", *words, f"--managers={managers}",
                       "--timeout=30s", expect=expect, stderr=stderr)

  def not_finalized(self):
    cluster = json.loads(self.admin("status", "--json"))
    return [each["name"] for each in cluster.get("not_finalized", [])]

  def test_upgrade(self):
    self.open_bank()
    loads = Loads(self.cluster)
    loads.await_more(100)
    for manager in self.cluster.managers:
      self.exchange(manager, self.new)
    # Half the chain, one of them back, and all of it: from the tail on.
    chain, _ = self.cluster.chain()
    for node in (chain[3], chain[2]):
      self.exchange(node, self.new)
    self.exchange(chain[3], self.old)
    self.assertEqual(self.not_finalized(), [])
    for node in (chain[3], chain[1], chain[0]):
      self.exchange(node, self.new)
    waiting = self.not_finalized()
    self.assertEqual(NEW_FUNCTION in waiting, self.brings, waiting)
    # Not finalized, so the way back is open.
    self.exchange(chain[2], self.old)
    self.exchange(chain[2], self.new)
    self.admin("finalize", "--confirm")
    self.assertEqual(self.not_finalized(), [])
    loads.await_more(100)
    self.check_bank(*loads.stop())
    if self.brings:
      self.check_closed(chain[1])

  def check_closed(self, node):
    """The old release cannot run after the finalization."""
    self.cluster.kill(node, signal.SIGTERM)
    self.cluster.binaries = Programs(self.old)
    try:
      self.cluster.restart(node)
    except ClusterError:
      pass  # it may have ended before it was seen to listen
    wait_until(lambda: not self.cluster.alive(node), JOIN_S,
               f"{node} to be refused")
    self.assertIn(f"{NEW_FUNCTION} is missing at {node}",
                  self.cluster.log_tail(node))
    self.cluster.binaries = Programs(self.new)
    self.cluster.restart(node)
    self.cluster.await_chain(self.cluster.nodes, JOIN_S)


def _leg(name, old, new, brings):
  return type(name, (UpgradeTest,), {"old": old, "new": new, "brings": brings})


def main():
  parser = argparse.ArgumentParser(
      description=__doc__,
      formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--from", dest="commit", metavar="COMMIT",
                      help="upgrade from there, not from the last release of "
                      "releases.toml")
  options = parser.parse_args()
  try:
    listed = releases.listed()
    this = releases.this_tree()
    legs = [_leg("ToTheNextRelease", this, releases.next_release(), True)]
    commit = options.commit or (listed[-1][1] if listed else None)
    if commit is None:
      print("there is no release yet: only from this tree to the next one")
    else:
      legs.insert(0, _leg("FromTheLastRelease", releases.release(commit), this,
                          False))
  except releases.ReleaseError as error:
    print(f"upgrade: {error}", file=sys.stderr)
    return 1
  suite = unittest.TestSuite(
      unittest.defaultTestLoader.loadTestsFromTestCase(leg) for leg in legs)
  return 0 if unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful() \
      else 1


if __name__ == "__main__":
  sys.exit(main())
