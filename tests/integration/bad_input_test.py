"""Bad input: each gets the right status or exit code and one clear line, and
the chain goes on serving."""

import os
import shutil
import signal
import subprocess

from harness import ClusterTest, Load, free_port, main, patience, wait_until


class BadRequestTest(ClusterTest):
  start = {"nodes": 2, "heap_mb": 16, "ring_mb": 16}

  def tearDown(self):
    self.kamino("put", "still", "serving")
    self.assertEqual(self.kamino("get", "still"), "serving\n")

  def large(self, size):
    path = os.path.join(self.folder, "value")
    with open(path, "wb") as f:
      f.write(b"x" * size)
    return f"--file={path}"

  def test_keys_values_and_ranges(self):
    self.kamino("put", "a", "0123456789")
    self.kamino("get", "b", expect=1, stderr="key not found")
    self.kamino("del", "b", expect=1, stderr="key not found")
    self.kamino("get", "a", "--offset=8", "--length=3", expect=1,
                stderr="out of range")
    self.kamino("patch", "a", "8", "xyz", expect=1,
                stderr="out of range")
    self.kamino("patch", "b", "0", "x", expect=1,
                stderr="key not found")
    for key in ("", "k" * 1025):
      self.kamino("put", key, "x", expect=2, stderr="1 to 1,024 bytes")
      self.kamino("get", key, expect=2, stderr="1 to 1,024 bytes")
    self.kamino("put", "a", self.large((1 << 20) + 1), expect=2,
                stderr="invalid argument")
    self.kamino("put", "a", self.large(7 << 20), expect=2,
                stderr="at most 1 MiB")
    self.assertEqual(self.kamino("get", "a"), "0123456789\n")
    self.kamino("put", "k" * 1024, self.large(1 << 20))

  def test_procedures(self):
    self.kamino("call", "no.such", "x", expect=1,
                stderr="unknown procedure")
    self.kamino("call", "kamino.format", "", expect=1,
                stderr="unknown procedure")
    self.kamino("call", "bank.transfer", "rubbish", expect=1,
                stderr="procedure failed")

  def test_commits_of_many_parts(self):
    path = os.path.join(self.folder, "objects")
    with open(path, "w", encoding="ascii") as f:
      f.writelines(f"r{i:03d}\tv\n" for i in range(200))
    self.kamino("load", "tsv", path)
    unchanged = ("if", "unchanged", "r", "s", "1000000")
    self.kamino("commit", *unchanged * 1000, "then", "put", "a", "1")
    self.kamino("put", "large", self.large(50 << 10))
    self.kamino("commit", "then", "put", "a", "2", "get", "large", "get",
                "large", expect=1, stderr="too large")
    self.assertEqual(self.kamino("get", "a"), "1\n")

  def test_command_lines(self):
    for words in (("get",), ("put", "a"), ("nothing",), ("patch", "a", "x",
                  "y"), ("commit", "if", "then"), ("get", "a", "--nonsense"),
                  ("load", "tsv", "/no/such/file")):
      done = self.cluster.kamino(*words, check=False)
      self.assertEqual(done.returncode, 2, (words, done.stderr))
    self.assertEqual(self.cluster.kamino("--help").returncode, 0)

  def test_an_unreachable_seed(self):
    done = self.cluster.kamino("get", "a", "--timeout=1s", check=False,
                               seeds=f"127.0.0.1:{free_port()}")
    self.assertEqual(done.returncode, 3, done.stderr)

  def test_heap_full(self):
    acked = []
    value = self.large(1 << 20)
    for i in range(30):
      done = self.cluster.kamino("put", f"k{i}", value, check=False)
      if done.returncode != 0:
        break
      acked.append(f"k{i}")
    self.assertEqual(done.returncode, 1)
    self.assertIn("heap full", done.stderr)
    self.assertGreater(len(acked), 8)
    keys = self.kamino("scan", "--prefix=k", "--keys_only").split()
    self.assertEqual(sorted(keys), sorted(acked))
    self.assertEqual(len(self.kamino("get", acked[-1])), (1 << 20) + 1)
    self.kamino("del", acked[0])
    self.kamino("put", "fits", value)
    self.kamino("del", "fits")

  def test_a_heap_filled_to_the_last_byte(self):
    path = os.path.join(self.folder, "objects")
    self.kamino("put", "cron", "000")
    for size in (50000, 3000, 600, 100, 20):
      with open(path, "w", encoding="ascii") as f:
        f.writelines(f"f{size}/{i:06d}\t{'x' * size}\n" for i in range(9000))
      done = self.cluster.kamino("load", "tsv", path, check=False)
      self.assertEqual(done.returncode, 1, done.stderr)
      self.assertIn("heap full", done.stderr)
    # Each is another client, whose outcome is stored.
    for i in range(300):
      done = self.cluster.kamino("put", "cron", f"{i:03d}", check=False)
      if done.returncode != 0:
        break
    self.assertIn("heap full", done.stderr)
    # Deletes are other clients as well.
    large, *others = (
        self.kamino("scan", f"--prefix={prefix}", "--keys_only").split()
        for prefix in ("f50000/", "f3000/", "f600/", "f100/", "f20/"))
    self.assertGreater(len(large), 100)
    for i in range(10):
      self.kamino("del", large[3 * i])
      self.kamino("commit", "then", "del", large[3 * i + 1], "del",
                  large[3 * i + 2])
      for keys in others:
        if i < len(keys):
          self.kamino("del", keys[i])
    self.kamino("get", large[0], expect=1, stderr="key not found")
    self.kamino("put", "fits", "x" * 3000)


class NodeThatMustNotStart(ClusterTest):
  def node(self, *extra, name="x1", folder=None):
    """Runs a node that must not start; later flags win over earlier ones."""
    address = f"127.0.0.1:{free_port()}"
    command = self.cluster.node_command(name, address)
    if folder:
      command.append(f"--data_dir={folder}")
    done = self.run_program(*command, *extra)
    self.assertTrue(done.stderr.strip(), "no reason given")
    return done.returncode, done.stderr.strip().splitlines()[-1]

  def check(self, result, code, text):
    self.assertEqual(result[0], code, result[1])
    self.assertIn(text, result[1])


class BadNodeTest(NodeThatMustNotStart):
  start = {"nodes": 2, "heap_mb": 16, "ring_mb": 16}

  def test_flags(self):
    for flag, text in (("--transport=udp", "--transport"),
                       ("--heap_mb=1", "--heap_mb"),
                       ("--alpha=0", "--alpha"),
                       ("--alpha=2", "--alpha"),
                       ("--undo_copy=none", "--undo_copy"),
                       ("--undo_copy=log",
                        "for --chain_mode=traditional, not kamino"),
                       ("--pmem=maybe", "--pmem"),
                       ("--pmem_delay_line_ns=100001", "pmem_delay_line_ns"),
                       ("--pmem_delay_drain_ns=-1", "pmem_delay_drain_ns"),
                       ("--node_id=a/b", "--node_id"),
                       ("--cluster_id=", "--cluster_id"),
                       ("--listen=nowhere", "--listen"),
                       ("--listen=0.0.0.0:0", "--advertise"),
                       ("--link_listen=0.0.0.0:0", "--link_listen"),
                       ("--advertise=10.0.0.1:7001", "--link_listen"),
                       ("--listen=10.0.0.1:7001", "--link_listen"),
                       ("--link_advertise=somewhere", "--link_advertise"),
                       ("--link_advertise=0.0.0.0:0", "--link_advertise"),
                       ("--managers=", "--managers")):
      self.check(self.node(flag), 2, text)
    # Neighbours on other machines could not connect to it.
    self.check(self.node("--link_listen=0.0.0.0:0",
                         "--link_advertise=127.0.0.1:0",
                         "--advertise=10.0.0.1:7001"), 2,
               "--link_advertise is 127.0.0.1:0, which other machines cannot")
    self.assertEqual(self.node("--no_such_flag=1")[0], 2)
    manager = self.cluster.binary("kamino_manager")
    done = self.run_program(manager, "--cluster_id=c", "--listen=127.0.0.1:1",
                            "--etcd=x")
    self.assertEqual(done.returncode, 2)
    self.assertIn("--etcd", done.stderr)
    self.assertEqual(self.run_program(manager, "--help").returncode, 0)

  def test_a_node_serves_once_a_manager_admits_it(self):
    log = os.path.join(self.folder, "log")

    def start(managers):
      command = self.cluster.node_command("x1", f"127.0.0.1:{free_port()}")
      with open(log, "w", encoding="utf-8") as f:
        process = subprocess.Popen([*command, f"--managers={managers}"],
                                   stdout=f, stderr=f)
      self.addCleanup(process.wait)
      self.addCleanup(process.kill)
      return process

    def says(text):
      with open(log, encoding="utf-8") as f:
        return text in f.read()

    alone = start(f"127.0.0.1:{free_port()}")
    wait_until(lambda: says("; trying again"), 30, "the node to complain")
    self.assertTrue(says("registers with the manager at 127.0.0.1:"))
    self.assertFalse(says("serves on"))
    alone.terminate()
    self.assertEqual(alone.wait(patience(30)), 0)
    start(self.cluster.state["addresses"]["manager"])
    wait_until(lambda: says("serves on"), 30, "the node to serve")

  def test_two_nodes_of_one_id(self):
    self.check(self.node(name="n1",
                         folder=os.path.join(self.folder, "twin")),
               1, "is alive")
    self.check(self.node(name="n1"), 1, "in use")  # and of one folder

  def test_ports_in_use(self):
    taken = self.cluster.state["addresses"]["n1"]
    self.check(self.node(f"--listen={taken}"), 1, taken)
    self.check(self.node(f"--link_listen={taken}", name="x2"), 1, taken)
    manager = self.cluster.binary("kamino_manager")
    done = self.run_program(manager, "--cluster_id=c", f"--listen={taken}",
                            "--etcd=127.0.0.1:1")
    self.assertEqual(done.returncode, 1)
    self.assertIn(taken, done.stderr.splitlines()[-1])
    self.assertNotIn("chttp2", done.stderr)  # gRPC's own words for it

  def test_another_cluster_or_heap_size(self):
    self.check(self.node("--cluster_id=other"), 1, "cluster")
    self.check(self.node("--heap_mb=32", name="x2"), 1, "heaps of one chain")
    # It left nothing that keeps it from coming as the others are.
    log = os.path.join(self.folder, "x2.log")
    with open(log, "w", encoding="utf-8") as f:
      node = subprocess.Popen(
          self.cluster.node_command("x2", f"127.0.0.1:{free_port()}"),
          stdout=f, stderr=f)
    self.addCleanup(node.wait)
    self.addCleanup(node.kill)
    def serves():
      with open(log, encoding="utf-8") as f:
        return "serves on" in f.read()
    wait_until(serves, 30, "x2 to be taken in")
    for mode in ("images", "traditional"):
      self.check(self.node(f"--chain_mode={mode}", name="x3"), 1,
                 f"chain mode (--chain_mode) is {mode} at x3, but kamino at n")

  def test_files(self):
    folder = os.path.join(self.folder, "copy")
    # A kill and not a planned stop: one of two members does not go on without a
    # member that is to return.
    self.cluster.kill("n2")
    original = self.cluster.data_dir("n2")
    heap = os.path.join(folder, "heap.pmem")

    def restore():
      shutil.rmtree(folder, ignore_errors=True)
      shutil.copytree(original, folder,
                      ignore=shutil.ignore_patterns("*.sock"))

    restore()
    self.check(self.node(name="n9", folder=folder), 1, "belongs to")
    restore()
    os.truncate(heap, 9 << 20)
    self.check(self.node(name="n2", folder=folder), 1, "truncated")
    for offset, data, text in ((0, b"foreign!", "not a Kamino heap"),
                               (8, b"\x07", "version 7"),
                               (60, b"\xff\xff", "damaged")):
      restore()
      with open(heap, "r+b") as f:
        f.seek(offset)
        f.write(data)
      self.check(self.node(name="n2", folder=folder), 1, text)
    restore()
    os.remove(os.path.join(folder, "ring.pmem"))
    self.check(self.node(name="n2", folder=folder), 1, "ring.pmem is missing")
    restore()
    self.check(self.node("--heap_mb=32", name="n2", folder=folder), 1,
               "--heap_mb=16, or move its files away")
    self.kamino("put", "a", "b")  # n1 goes on alone

  def test_devices(self):
    """A file stands for the device: it has a size and no name to change."""
    self.cluster.kill("n2")
    device = os.path.join(self.folder, "device")
    folder = os.path.join(self.folder, "empty")

    def start(*flags, name="n2", folder=folder):
      return self.node(f"--device={device}", *flags, name=name, folder=folder)

    def make(megabytes, data=b""):
      with open(device, "wb") as f:
        f.write(data)
        f.truncate(megabytes << 20)

    self.check(self.node("--format_device"), 2, "--format_device")
    self.check(start(), 1, "No such file")
    make(1)
    self.check(start(), 1, "too few")
    make(16)
    self.check(start(), 1, f"{device}:heap: no room for 16 MiB")
    make(64, b"another's")
    self.check(start(), 1, "not a device of Kamino")
    # Formats it, and finds that the port is taken.
    taken = f"--listen={self.cluster.state['addresses']['n1']}"
    self.check(start("--format_device", taken), 1, taken[9:])
    self.check(start(name="n3"), 1, "belongs to local/1/n2, not to local/1/n3")
    self.check(start(folder=self.cluster.data_dir("n2")), 1,
               "heap.pmem is there, but --device is")
    with open(device, "r+b") as f:
      for copy in (0, 4096):
        f.seek(copy + 40)
        f.write(b"\xff")
    self.check(start("--format_device"), 1, "directory is damaged")
    self.kamino("put", "a", "b")  # n1 goes on alone


class BadTraditionalNodeTest(NodeThatMustNotStart):
  start = {"nodes": 2, "heap_mb": 16, "ring_mb": 16, "undo_copy": "log",
           "node_flags": ["--chain_mode=traditional"]}

  def test_another_undo_copy(self):
    for kind in ("simple", "dynamic"):
      self.check(self.node(f"--undo_copy={kind}", name="x2"), 1,
                 f"undo copy (--undo_copy) is {kind} at x2, but log at n")
    # A running chain does not change its undo copy either.
    self.cluster.kill("n2", signal.SIGTERM)
    self.check(self.node("--undo_copy=simple", name="n2",
                         folder=self.cluster.data_dir("n2")), 1,
               "undo copy (--undo_copy) is simple at n2, but log at n1")
    self.cluster.start_node("n2")
    self.cluster.await_chain(["n1", "n2"])


class RestartTest(ClusterTest):
  start = {"nodes": 3, "heap_mb": 16, "ring_mb": 16}

  def test_a_restarted_node_redirects_clients_and_joins(self):
    self.kamino("put", "a", "1")
    self.cluster.kill("n3")
    self.cluster.await_chain(["n1", "n2"])
    self.cluster.start_node("n3")
    address = self.cluster.state["addresses"]["n3"]
    wait_until(lambda: self.cluster.kamino(
        "get", "a", "--timeout=2s", check=False, seeds=address).stdout ==
               "1\n", 15, "n3 to know the chain")
    self.kamino("put", "a", "2")
    self.cluster.await_chain(["n1", "n2", "n3"])
    self.assertEqual(self.kamino("get", "a"), "2\n")

  def test_a_head_killed_in_the_middle_recovers_its_heap(self):
    """It opens, rolls back what it had not committed, and joins."""
    self.open_bank()
    load = Load(self.cluster, count=5000)
    load.await_acked(1000)
    self.cluster.kill("n1")
    self.cluster.await_chain(["n2", "n3"])
    self.check_bank(load)
    self.assertTrue(os.path.exists(
        os.path.join(self.cluster.data_dir("n1"), "undo_copy.pmem")))
    self.cluster.start_node("n1")
    address = self.cluster.state["addresses"]["n1"]
    wait_until(lambda: self.cluster.kamino(
        "get", "bank/000000", "--timeout=2s", check=False,
        seeds=address).returncode == 0, 15, "n1 to know the chain")
    self.cluster.await_chain(["n1", "n2", "n3"])
    self.check_bank(load)

  def test_the_store_unreachable(self):
    self.kamino("put", "a", "1")
    self.cluster.kill("etcd", signal.SIGSTOP)
    # Retried and logged; the data path goes on while leases are renewed.
    self.kamino("put", "a", "2")
    wait_until(lambda: "trying again" in self.cluster.log_tail("manager", 50),
               20, "the manager to complain")
    self.assertTrue(self.cluster.alive("manager"))
    self.cluster.kill("etcd", signal.SIGCONT)
    wait_until(lambda: self.cluster.kamino(
        "get", "a", "--timeout=2s", check=False).stdout == "2\n", 20,
               "the chain to serve again")
    self.cluster.kill("n3")
    self.cluster.await_chain(["n1", "n2"])

  def test_a_manager_restarts(self):
    self.kamino("put", "a", "1")
    self.cluster.kill("manager")
    for name in self.cluster.nodes:
      self.assertTrue(self.cluster.alive(name))
    self.cluster.restart_manager()
    wait_until(lambda: self.cluster.kamino(
        "get", "a", "--timeout=2s", check=False).stdout == "1\n", 20,
               "the chain to serve again")
    self.assertEqual(self.cluster.chain(), (["n1", "n2", "n3"], 1))


if __name__ == "__main__":
  main()
