"""The programs' messages to systemd, in its protocol: that they are up, that
they go on, that they end."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest

from harness import Binaries, free_port, main, patience

PATIENCE_S = 20


class ServiceManagerTest(unittest.TestCase):

  def setUp(self):
    self.folder = tempfile.mkdtemp(prefix="kamino-test-")
    self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
    self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    self.addCleanup(self.socket.close)
    self.path = os.path.join(self.folder, "notify")
    self.socket.bind(self.path)
    self.socket.settimeout(patience(PATIENCE_S))
    self.lines = []  # of the last message, not looked at yet

  def start(self, program, *flags, **environment):
    process = subprocess.Popen(
        [Binaries().path(program), "--cluster_id=c", *flags],
        stderr=subprocess.DEVNULL,
        env={**os.environ, "NOTIFY_SOCKET": self.path, **environment})
    self.addCleanup(process.wait)
    self.addCleanup(process.kill)
    return process

  def await_line(self, prefix):
    """The next line that begins like that; what comes before it is dropped."""
    while True:
      while self.lines:
        line = self.lines.pop(0)
        if line.startswith(prefix):
          return line
      self.lines = self.socket.recv(4096).decode().splitlines()

  def check(self, process, status):
    self.await_line("READY=1")
    self.assertIn(status, self.await_line("STATUS="))
    self.await_line("WATCHDOG=1")
    self.await_line("WATCHDOG=1")
    process.send_signal(signal.SIGTERM)
    self.await_line("STOPPING=1")
    self.assertEqual(process.wait(patience(PATIENCE_S)), 0)

  # Each counts as up before the server that it depends on: a restart by the
  # service manager would not help.

  def test_a_manager_without_etcd(self):
    self.check(self.start("kamino_manager", "--etcd=127.0.0.1:1",
                          f"--listen=127.0.0.1:{free_port()}",
                          WATCHDOG_USEC="40000"), "manager of cluster c")

  def test_a_node_without_a_manager(self):
    self.check(self.node(WATCHDOG_USEC="40000"), "node n1 of cluster c")

  def test_without_a_watchdog_no_keepalive_is_sent(self):
    process = self.node()
    self.assertIn("registers with the manager at", self.await_line("STATUS="))
    process.send_signal(signal.SIGTERM)
    while True:
      line = self.socket.recv(4096).decode()
      self.assertNotIn("WATCHDOG", line)
      if "STOPPING=1" in line:
        break

  def node(self, **environment):
    return self.start(
        "kamino_node", "--node_id=n1", f"--data_dir={self.folder}/n1",
        "--listen=127.0.0.1:0", "--managers=127.0.0.1:1", "--heap_mb=16",
        "--ring_mb=16", "--pmem=force", **environment)


if __name__ == "__main__":
  main()
