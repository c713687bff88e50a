"""Faults around the processes: a stalled reader of their logs, a folder with a
long name, signals of other processes, exchanged addresses."""

import os
import re
import signal
import threading

from harness import ClusterTest, LocalCluster, main, patience, wait_until

LONG = "d" * 90


class UnreadCluster(LocalCluster):
  """stderr of managers and nodes is a pipe that is full and that no process
  reads."""

  def __init__(self, *arguments):
    super().__init__(*arguments)
    self.pipe_path = os.path.join(os.path.dirname(self.folder), "pipe")
    os.mkfifo(self.pipe_path)
    self.pipe = os.open(self.pipe_path, os.O_RDWR | os.O_NONBLOCK)
    try:
      while True:
        os.write(self.pipe, b".")
    except BlockingIOError:
      pass

  def command_for(self, name, arguments):
    if not re.fullmatch(r"n\d|manager", name):
      return arguments
    return ["sh", "-c", 'exec 2>"$0"; exec "$@"', self.pipe_path, *arguments]

  def read_on(self, text):
    """Reads all that comes, into the list `text`, from now on."""
    os.set_blocking(self.pipe, True)

    def read():
      while True:
        text.append(os.read(self.pipe, 65536))
    threading.Thread(target=read, daemon=True).start()


class UnreadLogTest(ClusterTest):
  cluster_class = UnreadCluster
  start = {"nodes": 3, "heap_mb": 16, "ring_mb": 16}

  def admin_status(self):
    managers = ",".join(self.cluster.addresses_of(self.cluster.managers))
    return self.cluster.kamino("admin", "status", f"--managers={managers}",
                               check=False)

  def test_the_chain_continues(self):
    self.kamino("put", "a", "1")
    self.cluster.kill("n2", signal.SIGTERM)
    self.cluster.restart("n2")
    self.cluster.await_chain(["n1", "n3", "n2"], timeout=30)
    self.kamino("put", "a", "2")
    self.assertEqual(self.kamino("get", "a"), "2\n")

    # A call of an operator whose line would be lost fails.
    refused = self.admin_status()
    self.assertNotEqual(refused.returncode, 0)
    self.assertIn("nothing was done, since the call's line for the audit log "
                  "could not be written: the reader of stderr takes no lines",
                  refused.stderr)
    text = []
    self.cluster.read_on(text)
    wait_until(lambda: self.admin_status().returncode == 0, 30,
               "the operator's call to be done")
    audit = b"audit: {\"time\":"
    self.assertIn(audit, b"".join(text))

  def test_processes_end(self):
    for name in [*self.cluster.nodes, *self.cluster.managers]:
      self.cluster.kill(name, signal.SIGTERM)


class LongCluster(LocalCluster):
  def data_dir(self, name):
    return os.path.join(self.folder, LONG, name)


class LongDataDirTest(ClusterTest):
  cluster_class = LongCluster
  start = {"nodes": 1, "heap_mb": 16, "ring_mb": 16}

  def test_a_node_continues_without_shared_memory(self):
    self.kamino("put", "a", "1")
    size = len(self.cluster.data_dir("n1"))
    why = (f"--data_dir is a path of {size} bytes, and sockets in it may have "
           "one of 97: clients and neighbours on this machine reach this node "
           "by tcp, not by shared memory")
    self.assertEqual(self.cluster.log_tail("n1", 400).count(why), 1)
    # A client that prefers shared memory goes another way.
    self.kamino("put", "a", "2", "--carrier=shm")

    command = self.cluster.node_command("n2", "127.0.0.1:7001")
    checked = self.run_program(*command, "--check_config")
    self.assertEqual(checked.returncode, 0, checked.stderr)
    self.assertIn(f"warning: {why}", checked.stderr)
    checked = self.run_program(*command, "--check_config", "--transport=shm")
    self.assertEqual(checked.returncode, 2, checked.stderr)
    self.assertIn(f"--transport cannot be shm: {why}", checked.stderr)


class SignalsTest(ClusterTest):
  start = {"nodes": 1, "heap_mb": 16, "ring_mb": 16}

  def test_a_fatal_signal_ends_the_process(self):
    """Also one that a fault raises otherwise: systemd's watchdog sends ABRT."""
    for name in ("n1", "manager"):
      for number in (signal.SIGABRT, signal.SIGBUS, signal.SIGSEGV,
                     signal.SIGQUIT):
        self.cluster.kill(name, number)
        wait_until(lambda n=name: not self.cluster.alive(n), patience(10),
                   f"{name} to end by {number.name}")
        last = self.cluster.log_tail(name).splitlines()[-1]
        self.assertRegex(
            last, rf"ended by {number.name}, sent by process {os.getpid()}$")
        self.cluster.restart(name)


class ExchangedCluster(LocalCluster):
  """Once `exchanged`, each of two nodes listens at the other's address."""

  exchanged = False

  def node_command(self, name, address):
    command = super().node_command(name, address)
    if not self.exchanged:
      return command
    other = "n2" if name == "n1" else "n1"
    return [*command, f"--listen={self.state['addresses'][other]}",
            f"--advertise={address}"]

  def _listens(self, name):
    # At its own address the other one listens.
    return self.exchanged or super()._listens(name)


class ExchangedAddressesTest(ClusterTest):
  cluster_class = ExchangedCluster
  start = {"nodes": 2, "heap_mb": 16, "ring_mb": 16}

  def test_status_fails_when_nodes_exchange_addresses(self):
    for name in ("n1", "n2"):
      self.cluster.kill(name)
    self.cluster.exchanged = True
    for name in ("n1", "n2"):
      self.cluster.restart(name)

    def told():
      done = self.cluster.kamino("status", "--timeout=2s", check=False)
      return (done.returncode == 1 and "is n2" in done.stdout and
              "the state of no node is known: at " in done.stderr)
    wait_until(told, patience(30), "kamino status to fail")


if __name__ == "__main__":
  main()
