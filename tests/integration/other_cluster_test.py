"""Another cluster gets addresses of this one, while clients of this one run,
or before nodes of this one start."""

import json
import os
import re
import signal
import threading
import urllib.request

from harness import ClusterTest, Load, main, wait_until

CARRIERS = ("tcp", "shm", "grpc", "unary")
BEFORE = 300  # acknowledged before the nodes are killed
IN_ALL = 3000
REFUSED = 'kamino_refusals_total{reason="other_cluster"} '


class OtherClusterTest(ClusterTest):
  """Both clusters have the same name, as those of two machines may."""

  start = {"heap_mb": 16, "ring_mb": 16, "nodes": 3,
           "failure_timeout_ms": 2000}

  def setUp(self):
    super().setUp()
    self.other = self.cluster_class(os.path.join(self.folder, "other"),
                                    self.programs(), self.patience)
    self.addCleanup(self.other.destroy)
    self.other.start(**{**self.start, "nodes": 1, "web": True})

  def move_other_to(self, address):
    self.other.kill("n1")
    self.other.start_node("n1", address=address)
    self.other.await_chain(["n1"], timeout=30)

  def objects_of_other(self):
    return self.other.kamino("scan", "--keys_only").stdout.split()

  def refused_by_other(self):
    """Requests for this cluster, since the other one's node has started."""
    page = f"http://{self.other.state['web']['n1']}/metrics"
    with urllib.request.urlopen(page, timeout=10) as answer:
      for line in answer.read().decode().splitlines():
        if line.startswith(REFUSED):
          return float(line[len(REFUSED):])
    return 0

  def reads_at(self, node):
    done = self.cluster.kamino("status", "--json", check=False)
    for status in map(json.loads, done.stdout.splitlines()[1:]):
      if status.get("node_id") == node:
        return int(status.get("reads", {}).get("answered", 0))
    return 0

  def test_mutations_reach_their_own_cluster_by_every_carrier(self):
    self.open_bank()
    loads = []
    for carrier in CARRIERS:
      with self.subTest(carrier=carrier):
        head = self.cluster.chain()[0][0]
        address = self.cluster.state["addresses"][head]
        load = Load(self.cluster, count=IN_ALL, log=f"{carrier}.log",
                    outstanding=4, words=[f"--carrier={carrier}"])
        loads.append(load)
        load.await_acked(BEFORE)
        for node in self.cluster.nodes:
          self.cluster.kill(node)
        self.move_other_to(address)
        wait_until(lambda: self.refused_by_other() > 0, 30,
                   "the other cluster to refuse a request of the load")
        for node in self.cluster.nodes:
          self.cluster.start_node(node, address=None if node == head else
                                  self.cluster.state["addresses"][node])
        load.join()
        self.assertEqual(load.done.returncode, 0, load.done.stderr)
        self.assertEqual(self.objects_of_other(), [])
        self.cluster.await_chain(self.cluster.nodes, timeout=60)
    self.check_bank(*loads)

  def test_reads_are_answered_by_their_own_cluster(self):
    count = 20000
    self.kamino("bench", "put", "--count=1000", "--keys=1000", "--in_order")
    for carrier in ("tcp", "unary"):
      with self.subTest(carrier=carrier):
        tail = self.cluster.chain()[0][-1]
        before = self.reads_at(tail)
        done = []
        load = threading.Thread(target=lambda c=carrier, d=done: d.append(
            self.cluster.kamino("bench", "get", f"--count={count}",
                                "--keys=1000", "--outstanding=2",
                                f"--carrier={c}", "--timeout=30s", "--json",
                                check=False, timeout=120)))
        load.start()
        wait_until(lambda t=tail, b=before: self.reads_at(t) > b + 500, 30,
                   "some reads")
        self.cluster.kill(tail)
        self.move_other_to(self.cluster.state["addresses"][tail])
        load.join()
        self.assertEqual(done[0].returncode, 0, done[0].stderr)
        counted = json.loads(done[0].stdout)
        self.assertEqual((counted["ok"], counted["declined"]), (count, 0))
        self.cluster.start_node(tail)  # at another address
        self.cluster.await_chain(self.cluster.nodes, timeout=60)

  def applied(self):
    done = self.cluster.kamino("status", "--json")
    return max(int(status.get("applied", 0))
               for status in map(json.loads, done.stdout.splitlines()[1:]))

  def assert_names_both(self, done, what, places):
    self.assertEqual(done.returncode, 2, done.stderr)
    self.assertIn(f"the {what} are of different clusters: ", done.stderr)
    for place in places:
      self.assertIn(place, done.stderr)
    uuids = re.findall(r"local \(uuid ([0-9a-f]{32})\)", done.stderr)
    self.assertEqual(len(set(uuids)), 2, done.stderr)

  def test_addresses_of_two_clusters_are_refused_by_name(self):
    seeds = self.cluster.addresses_of(["n1"]) + self.other.addresses_of(["n1"])
    for words in (["status"], ["put", "key", "value"], ["scan"],
                  ["backup", "save", os.path.join(self.folder, "none")]):
      for order in (seeds, seeds[::-1]):
        done = self.cluster.kamino(*words, seeds=",".join(order), check=False)
        self.assert_names_both(done, "seeds", seeds)
    self.assertEqual(self.objects_of_other(), [])
    managers = (self.other.addresses_of(["manager"]) +
                self.cluster.addresses_of(["manager"]))
    done = self.cluster.kamino("admin", "remove", "n2",
                               f"--managers={','.join(managers)}", check=False)
    self.assert_names_both(done, "managers", managers)
    self.assertEqual(len(self.cluster.chain()[0]), 3)

  def restart_with(self, node, managers):
    """The added flag overrides the earlier one."""
    self.cluster.state["node_args"].append(f"--managers={','.join(managers)}")
    self.cluster.restart(node)

  def run_node(self, name, managers):
    """A node that must not stay."""
    command = self.cluster.node_command(name, self.cluster.new_address(name))
    done = self.run_program(*command, f"--managers={','.join(managers)}")
    self.assertEqual(done.returncode, 1, done.stderr)
    self.assertNotIn("files away", done.stderr)
    return done.stderr.strip().splitlines()[-1]

  def test_a_node_starts_though_a_manager_is_of_another_cluster(self):
    self.kamino("put", "key", "own")
    theirs, = self.other.addresses_of(["manager"])
    own, = self.cluster.addresses_of(["manager"])
    found = f"the manager at {theirs} is of the cluster of uuid "

    def log():
      return self.cluster.log_tail("n3", 1000)

    self.cluster.kill("n3", signal.SIGTERM)
    self.restart_with("n3", [theirs, own])
    self.cluster.await_chain(self.cluster.nodes, timeout=60)
    self.assertEqual(log().count(found), 1)

    # It waits for its own manager as it does beside silent ones.
    self.cluster.kill("manager")
    self.cluster.kill("n3")
    self.cluster.restart("n3")
    wait_until(lambda: log().count(found) == 2 and
               f"manager at {own}: " in log(), 30, "n3 to ask both managers")
    self.assertTrue(self.cluster.alive("n3"))
    self.cluster.restart("manager")
    self.cluster.await_chain(self.cluster.nodes, timeout=60)

    self.cluster.kill("n3", signal.SIGTERM)
    said = self.run_node("n3", [theirs])
    self.assertIn("--managers has addresses that are wrong or are used by "
                  "another cluster", said)
    self.assertIn(f"{theirs} is of the cluster of uuid ", said)
    self.assertEqual(len(set(re.findall("uuid ([0-9a-f]{32})", said))), 2, said)
    self.cluster.restart("n3")
    self.cluster.await_chain(self.cluster.nodes, timeout=60)
    self.assertEqual(self.kamino("get", "key"), "own\n")
    self.assertEqual(self.objects_of_other(), [])

  def test_a_new_node_with_managers_of_two_clusters_joins_neither(self):
    managers = (self.other.addresses_of(["manager"]) +
                self.cluster.addresses_of(["manager"]))
    for order in (managers, managers[::-1]):
      said = self.run_node("n9", order)
      self.assertIn("the managers are of different clusters: ", said)
      for manager in managers:
        self.assertIn(f"{manager} is of the cluster of uuid ", said)
    for cluster, manager in zip((self.other, self.cluster), managers):
      told = cluster.kamino("admin", "status", f"--managers={manager}")
      self.assertNotIn("n9", told.stdout)

  def test_a_seed_that_hangs_at_first_ends_the_load_once_it_answers(self):
    count = 10**8  # more than fit in the time
    seeds = self.cluster.addresses_of(["n1"]) + self.other.addresses_of(["n1"])
    for outstanding in ("2", "512"):
      with self.subTest(outstanding=outstanding):
        before = self.applied()
        self.other.kill("n1", signal.SIGSTOP)
        done = []
        load = threading.Thread(target=lambda o=outstanding, d=done: d.append(
            self.cluster.kamino("bench", "put", f"--count={count}",
                                f"--outstanding={o}", "--json",
                                seeds=",".join(seeds), check=False,
                                timeout=120)))
        load.start()
        # The client has met its cluster without the seed that hangs.
        wait_until(lambda b=before: self.applied() > b, 30, "the first put")
        self.other.kill("n1", signal.SIGCONT)
        load.join()
        self.assertEqual(done[0].returncode, 2, done[0].stderr)
        self.assertIn("the seeds are of different clusters: " + seeds[1],
                      done[0].stderr)
        uuids = re.findall("uuid ([0-9a-f]{32})", done[0].stderr)
        self.assertEqual(len(set(uuids)), 2, done[0].stderr)
        counted = json.loads(done[0].stdout)
        self.assertGreater(counted["ok"], 0)
        self.assertLess(counted["failed"], 1024)

  def test_managers_of_another_cluster_than_the_seeds_are_an_error(self):
    manager = self.other.addresses_of(["manager"])[0]
    path = os.path.join(self.folder, "dump.tar.gz")
    for words in (["status"], ["debug", "dump", path]):
      done = self.cluster.kamino(*words, f"--managers={manager}", check=False)
      self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
      self.assertIn("the seeds and the managers are of different clusters: ",
                    done.stderr)
      self.assertIn(manager, done.stderr)
      uuids = re.findall(r"uuid ([0-9a-f]{32})", done.stderr)
      self.assertEqual(len(set(uuids)), 2, done.stderr)
      self.assertEqual(done.stdout, "")
    self.assertFalse(os.path.exists(path))

  def test_status_names_an_address_taken_by_another_cluster(self):
    # Without a manager the chain keeps the node that dies.
    for name in self.cluster.managers + ["n2"]:
      self.cluster.kill(name)
    address = self.cluster.state["addresses"]["n2"]
    self.move_other_to(address)
    seeds = ",".join(self.cluster.addresses_of(["n1"]))
    done = self.cluster.kamino("status", seeds=seeds)
    self.assertRegex(done.stdout, r"(?m)^n2 .* other cluster\b")
    self.assertIn(f"a node of another cluster answers at {address}, the "
                  "address of n2: ", done.stdout)


if __name__ == "__main__":
  main()
