"""A chain of real processes: normal operation, and the kill of each role."""

import json
import os
import signal
import subprocess

from harness import ENDLESS, ClusterTest, Load, main, wait_until


class NormalOperationTest(ClusterTest):

  def test_every_command(self):
    self.kamino("put", "a", "hello")
    self.assertEqual(self.kamino("get", "a"), "hello\n")
    self.assertEqual(self.kamino("get", "a", "--offset=1", "--length=3"),
                     "ell\n")
    self.kamino("patch", "a", "1", "EL")
    self.assertEqual(self.kamino("get", "a"), "hELlo\n")
    self.kamino("commit", "if", "value", "a", "hELlo", "then", "put", "b",
                "2", "del", "a")
    self.kamino("get", "a", expect=1, stderr="[key not found]")
    # A commit whose conditions do not hold changes nothing.
    done = self.cluster.kamino("commit", "if", "exists", "a", "then", "put",
                               "b", "3", check=False)
    self.assertEqual(done.returncode, 1)
    self.assertEqual(self.kamino("scan"), "b\t2\n")
    self.kamino("put", "x", "10")
    self.kamino("put", "y", "5")
    self.assertEqual(self.kamino("call", "bank.transfer", "x y 3"), "7 8\n")
    self.kamino("call", "bank.transfer", "x y 8", expect=1,
                stderr="less than 8")
    self.assertEqual(self.kamino("scan", "x", "z", "--keys_only"), "x\ny\n")
    self.kamino("del", "b")
    answer = json.loads(self.kamino("get", "x", "--json"))
    self.assertEqual(answer["header"]["served_by"], "n4")
    self.assertEqual(answer["header"]["view_id"], "1")

  def test_the_example_of_the_library(self):
    done = self.run_program(
        self.cluster.binary("bank_client"), self.cluster.seeds)
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertEqual(done.stdout.splitlines(), [
        "after the procedure: 7 13",
        "refused: account alice holds 7, less than 100 "
        "[REASON_PROCEDURE_FAILED]",
        "after the transaction: 5 15"])

  def test_all_nodes_hold_the_same_data(self):
    self.open_bank()
    load = Load(self.cluster, count=3000)
    self.check_bank(load)
    lines = self.kamino("status", "--json").splitlines()
    nodes = [json.loads(line) for line in lines[1:]]
    self.assertEqual([n["role"] for n in nodes],
                     ["head", "middle", "middle", "tail"])
    for field in ("received", "applied", "heap_bytes_used", "objects"):
      self.assertEqual(len({n[field] for n in nodes}), 1, field)


class SharedMemoryTest(ClusterTest):
  start = {"transport": "shm", "undo_copy": "simple"}

  def test_links_are_shm_and_work(self):
    self.open_bank()
    self.check_bank(Load(self.cluster, count=3000))
    lines = self.kamino("status", "--json").splitlines()
    for node in map(json.loads, lines[1:]):
      for link in node["links"]:
        self.assertEqual((link["transport"], link["connected"]), ("shm", True))


class AutoTransportTest(ClusterTest):
  start = {"nodes": 2, "transport": "auto"}

  def test_neighbours_on_one_host_use_shared_memory(self):
    self.kamino("put", "a", "1")
    self.assertEqual(self.kamino("get", "a"), "1\n")
    table = self.kamino("status")
    self.assertIn("n2 shm", table)
    self.assertIn("n1 shm", table)
    with open(os.path.join(self.cluster.folder, "n1.log"),
              encoding="utf-8") as log:
      lines = log.read()
    self.assertIn("chain links: --transport=auto", lines)
    self.assertIn("opens a link to n2 over shm", lines)


class KillTest(ClusterTest):

  def kill_under_load(self, position):
    self.open_bank()
    load = Load(self.cluster, count=ENDLESS)
    load.await_acked(2000)
    chain, view = self.cluster.chain()
    self.cluster.kill(chain[position])
    survivors = [n for n in chain if n != chain[position]]
    self.cluster.await_chain(survivors)
    self.assertEqual(self.cluster.chain(), (survivors, view + 1))
    load.await_acked(load.acked() + 100)
    self.check_bank(load)
    self.kamino("put", "after", "repair")
    self.assertEqual(self.kamino("get", "after"), "repair\n")

  def test_tail(self):
    self.kill_under_load(-1)

  def test_middle(self):
    self.kill_under_load(1)

  def test_head(self):
    self.kill_under_load(0)

  def test_all_but_one(self):
    self.open_bank()
    loads = []
    for i in range(3):
      loads.append(Load(self.cluster, count=3000, log=f"acked{i}.log"))
      loads[-1].await_acked(300)
      chain, _ = self.cluster.chain()
      self.cluster.kill(chain[0 if i % 2 == 0 else -1])
      self.cluster.await_chain(chain[1:] if i % 2 == 0 else chain[:-1])
    self.check_bank(*loads)


class ExactlyOnceTest(ClusterTest):
  # The tail that stands still is a member until all callers have come, on a
  # machine that is busy as well.
  start = {"failure_timeout_ms": 8000}

  def test_retries_across_a_head_kill_happen_once(self):
    """The answer of a call is lost with the head; its retry returns it."""
    self.kamino("put", "x", "1000000")
    self.kamino("put", "y", "0")
    # The tail does not answer: calls are executed, but not acknowledged.
    chain, _ = self.cluster.chain()
    self.cluster.kill(chain[-1], signal.SIGSTOP)
    callers = [
        subprocess.Popen(
            [self.cluster.binary("kamino"),
             f"--seeds={self.cluster.seeds}", "--timeout=30s", "call",
             "bank.transfer", "x y 1"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(8)]
    # The second node has executed them, so they survive the head.
    second = self.cluster.state["addresses"][chain[1]]
    def passed_on():
      done = self.cluster.kamino("status", "--json", "--timeout=2s",
                                 check=False, seeds=second)
      nodes = [json.loads(line) for line in done.stdout.splitlines()[1:]]
      return any(n["node_id"] == chain[1] and
                 int(n["applied"]) > int(n["cleaned"]) for n in nodes)
    wait_until(passed_on, 10, "the operations to reach the second node")
    self.cluster.kill(chain[0])
    self.cluster.kill(chain[-1])
    results = [caller.communicate() for caller in callers]
    for caller, (_, errors) in zip(callers, results):
      self.assertEqual(caller.returncode, 0, errors)
    self.assertEqual(self.kamino("get", "y"), "8\n")
    self.assertEqual(sorted(out.split()[1] for out, _ in results),
                     [str(i) for i in range(1, 9)])


class StaleViewTest(ClusterTest):

  def test_an_expelled_node_serves_nothing(self):
    self.kamino("put", "a", "old")
    for position in (-1, 0):
      victim = self.cluster.chain()[0][position]
      rest = [n for n in self.cluster.chain()[0] if n != victim]
      self.cluster.kill(victim, signal.SIGSTOP)
      self.cluster.await_chain(rest)
      self.kamino("put", "a", "new")
      self.cluster.kill(victim, signal.SIGCONT)
      # From the first moment on it neither answers from its old state nor takes
      # writes, and directs clients to the chain.
      address = self.cluster.state["addresses"][victim]
      for value in ("new", "newer"):
        done = self.cluster.kamino("get", "a", seeds=address)
        self.assertEqual(done.stdout, f"{value}\n")
        self.cluster.kamino("put", "a", "newer", seeds=address)
      # It returns as a new tail.
      wait_until(lambda r=rest, v=victim: self.cluster.chain()[0] == r + [v],
                 20, f"{victim} to join")
      self.assertEqual(self.kamino("get", "a"), "newer\n")


if __name__ == "__main__":
  main()
