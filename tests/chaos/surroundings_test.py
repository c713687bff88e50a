"""Name servers that hang or are slow, logs without a reader, proxies and slow
disks have their effect, and a missing effect is an error."""

import os
import select
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)),
                                "..", "..", "deploy", "local"))
# pylint: disable=wrong-import-position
from log_pipe import LogPipe
from name_server import NameServer, question
from network import HUB, Network
from processes import ClusterError, wait_until
from proxy_listener import ProxyListener
from slow_disk import SlowDisk, cannot_slow
from surroundings import Surroundings
from wall_clock import with_environment

LOCAL = "127.0.0.1"
COMES_S = 20
FOUND = socket.inet_aton("10.0.0.7")


def bound(kind):
  made = socket.socket(socket.AF_INET, kind)
  made.bind((LOCAL, 0))
  return made


class NameServerTest(unittest.TestCase):

  def setUp(self):
    endpoint = bound(socket.SOCK_DGRAM)
    self.address = endpoint.getsockname()
    self.server = NameServer(endpoint, {"n1.kamino.test": "10.0.0.7"})
    self.addCleanup(self.server.close)
    self.client = bound(socket.SOCK_DGRAM)
    self.addCleanup(self.client.close)

  def ask(self, query):
    self.client.sendto(query, self.address)

  def comes(self):
    self.assertTrue(select.select([self.client], [], [], COMES_S)[0])
    return self.client.recv(512)

  def test_the_name_server_answers_queries(self):
    self.ask(question("N1.kamino.test", 7))
    answer = self.comes()
    self.assertEqual(answer[:4], b"\0\x07\x81\x80")
    self.assertEqual(answer[-4:], FOUND)
    self.ask(question("n2.kamino.test", 8))
    self.assertEqual(self.comes()[:4], b"\0\x08\x81\x83")  # no such name
    # An IPv6 address: there is none, but the name is known.
    self.ask(question("n1.kamino.test", 9)[:-4] + b"\0\x1c\0\x01")
    self.assertEqual(self.comes()[:8], b"\0\x09\x81\x80\0\x01\0\0")

  def test_invalid_queries_are_ignored(self):
    for bytes_ in (b"", b"\0", b"\xff" * 20, question("n1", 1)[:-5]):
      self.ask(bytes_)
    self.ask(question("n1.kamino.test", 7))
    self.assertEqual(self.comes()[-4:], FOUND)

  def test_a_hanging_server_answers_once_it_continues(self):
    self.server.hang()
    self.assertFalse(self.server.goes_on)
    self.ask(question("n1.kamino.test", 7))
    wait_until(lambda: self.server.asked(LOCAL) == 1, COMES_S, "the query")
    self.assertEqual(self.server.answered(LOCAL), 0)
    self.assertFalse(select.select([self.client], [], [], 0)[0])
    self.server.go_on()
    self.assertEqual(self.comes()[-4:], FOUND)
    self.assertTrue(self.server.goes_on)

  def test_a_slow_server_delays_its_answers(self):
    self.server.slow(0.05)
    began = time.monotonic()
    for number in (1, 2, 3):
      self.ask(question("n1.kamino.test", number))
    self.assertEqual([self.comes()[1] for _ in range(3)], [1, 2, 3])
    self.assertGreaterEqual(time.monotonic() - began, 0.05)
    self.assertEqual(self.server.answered(LOCAL), 3)


class NamesTest(unittest.TestCase):
  """Names that the machine's own resolver finds, in a namespace."""

  def setUp(self):
    self.network = Network(["n1", "east"])
    self.addCleanup(self.network.destroy)
    self.network.create()
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.around = Surroundings(self.network, os.path.join(folder.name, "a"),
                               ["n1", "east"])
    self.addCleanup(self.around.close)
    self.around.start()

  def look_up(self, party, name="n1.kamino.test"):
    return subprocess.Popen(
        self.around.command(party, [
            sys.executable, "-c", "import socket, sys; "
            "print(socket.gethostbyname(sys.argv[1]))", name]),
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

  def test_parties_use_the_server_and_the_hub_does_not(self):
    for party in ("east", HUB):
      with self.look_up(party) as process:
        self.assertEqual(process.stdout.read().strip(),
                         self.network.host("n1"))
    self.assertTrue(self.around.have_asked("east"))
    self.assertFalse(self.around.have_asked(HUB))
    with self.look_up(HUB, "n2.kamino.test") as process:
      self.assertEqual(process.stdout.read(), "")
    self.assertFalse(self.around.have_asked(HUB))

  def test_the_server_hangs_for_all_and_continues(self):
    self.around.hang_names()
    with self.look_up("east") as process:
      self.around.await_query("east")
      self.assertFalse(select.select([process.stdout], [], [], 0)[0])
      self.around.names_go_on()
      self.assertEqual(process.stdout.read().strip(), self.network.host("n1"))

  def test_a_server_that_does_not_hang_is_detected(self):
    with mock.patch.object(self.around.names, "hang"):
      self.around.hang_names()
    with self.look_up("east") as process:
      process.stdout.read()
    with self.assertRaisesRegex(ClusterError, "was to hang, and has answered"):
      self.around.names_go_on()

  def test_a_server_that_is_not_slow_is_detected(self):
    with mock.patch.object(self.around.names, "slow"):
      with self.assertRaisesRegex(ClusterError, "was to answer after 5 s"):
        self.around.slow_names(5)

  def test_a_missing_query_is_detected(self):
    self.around.hang_names()
    with self.assertRaisesRegex(ClusterError, "no process has asked"):
      self.around.names_go_on()


class LogPipeTest(unittest.TestCase):

  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.path = os.path.join(folder.name, "log")
    self.pipe = LogPipe(self.path)
    self.addCleanup(self.pipe.end)
    self.addCleanup(self.pipe.write_end.close)

  def log(self):
    with open(self.path, "rb") as f:
      return f.read()

  def test_a_line_arrives_once_reading_continues(self):
    self.pipe.write_end.write(b"first\n")
    wait_until(lambda: b"first\n" in self.log(), COMES_S, "the first line")
    self.pipe.fill()
    process = subprocess.Popen(["sh", "-c", "echo second; echo ended >&2"],
                               stdout=self.pipe.write_end,
                               stderr=subprocess.PIPE)
    # The child waits in its first write; it would say so if it did not.
    self.assertFalse(select.select([process.stderr], [], [], 0)[0])
    self.pipe.check_full()
    self.pipe.read_on()
    self.assertEqual(process.communicate()[1], b"ended\n")
    wait_until(lambda: b"second\n" in self.log(), COMES_S, "the second line")

  def test_the_log_is_complete_after_the_writer_ends(self):
    self.pipe.fill()
    self.pipe.write_end.close()
    self.pipe.end()
    self.assertGreaterEqual(len(self.log()), 4096)

  def test_a_pipe_that_is_read_is_detected(self):
    self.pipe.fill()
    self.pipe.read_on()
    wait_until(lambda: len(self.log()) >= 4096, COMES_S, "the log")
    with self.assertRaisesRegex(ClusterError, "was to be full"):
      self.pipe.check_full()


class ProxyListenerTest(unittest.TestCase):
  STAYS = [sys.executable, "-c", "import sys; print('ready', flush=True); "
           "sys.stdin.read()"]

  def setUp(self):
    self.proxy = ProxyListener(bound(socket.SOCK_STREAM))
    self.addCleanup(self.proxy.close)

  def run_with(self, environment):
    process = subprocess.Popen(with_environment(self.STAYS, environment),
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    self.addCleanup(process.stdout.close)
    self.addCleanup(process.wait)
    self.addCleanup(process.stdin.close)
    process.stdout.readline()
    return process.pid

  def test_a_configured_process_does_not_use_the_proxy(self):
    self.proxy.check_told(self.run_with(self.proxy.environment()))
    for _ in range(2):
      self.proxy.check_unused(bound(socket.SOCK_STREAM))

  def test_a_process_without_the_variable_is_detected(self):
    told = self.proxy.environment()
    del told["HTTPS_PROXY"]
    with self.assertRaisesRegex(ClusterError, "was to have HTTPS_PROXY$"):
      self.proxy.check_told(self.run_with(told))

  def test_a_connection_is_detected(self):
    host, port = self.proxy.url[len("http://"):].split(":")
    with socket.create_connection((host, int(port))):
      wait_until(lambda: self.proxy.peers, COMES_S, "the connection")
    with self.assertRaisesRegex(ClusterError, "1 connections came"):
      self.proxy.check_unused(bound(socket.SOCK_STREAM))


# Syncs a file again and again, and says so.
SYNCS = """
import mmap, os, sys
f = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
os.ftruncate(f, 4096)
mapped = mmap.mmap(f, 4096)
for line in sys.stdin:
  mapped[0] = 1
  {"fsync": lambda: os.fsync(f), "fdatasync": lambda: os.fdatasync(f),
   "msync": mapped.flush}[line.strip()]()
  print("done", flush=True)
"""


class SlowDiskTest(unittest.TestCase):

  def setUp(self):
    self.assertEqual(cannot_slow(), "")
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.disk = SlowDisk(os.path.join(folder.name, "disk"))
    self.file = os.path.join(folder.name, "file")

  def start(self, environment):
    process = subprocess.Popen(
        with_environment([sys.executable, "-c", SYNCS, self.file], environment),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    self.addCleanup(process.stdout.close)
    self.addCleanup(process.wait)
    self.addCleanup(process.stdin.close)
    return process

  def sync(self, process, call):
    began = time.monotonic()
    process.stdin.write(f"{call}\n")
    process.stdin.flush()
    self.assertEqual(process.stdout.readline(), "done\n")
    return time.monotonic() - began

  def test_each_sync_is_delayed_until_the_delay_ends(self):
    process = self.start(self.disk.environment())
    self.sync(process, "fsync")
    self.assertEqual(self.disk.delayed(), 0)
    self.disk.check_used(process.pid)
    self.disk.delay(0.05)
    for i, call in enumerate(("fsync", "fdatasync", "msync"), 1):
      self.assertGreaterEqual(self.sync(process, call), 0.05)
      self.assertEqual(self.disk.delayed(), i)
    self.disk.delay(0)
    self.sync(process, "fdatasync")
    self.assertEqual(self.disk.delayed(), 3)

  def test_a_process_with_another_disk_is_detected(self):
    process = self.start({})
    self.sync(process, "fsync")
    with self.assertRaisesRegex(ClusterError, "has another disk"):
      self.disk.check_used(process.pid)

  def test_the_slow_disk_combines_with_a_clock(self):
    self.assertEqual(
        with_environment(["a"], {"LD_PRELOAD": "x", "B": "1"},
                         {"LD_PRELOAD": "y"}),
        ["env", "B=1", "LD_PRELOAD=x:y", "a"])


if __name__ == "__main__":
  unittest.main(verbosity=2)
