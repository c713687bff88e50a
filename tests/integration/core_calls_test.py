"""Core threads make no call that may block, also while the name server hangs
and a member dies. See blocking_calls.cc."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

from harness import ClusterTest, free_port, main
from binaries import Binaries
from local_cluster import LocalCluster

PATIENCE_S = 60
# The tree that Bazel has made for the test.
LIBRARY = os.path.join(os.environ.get("KAMINO_BIN_ROOT", "bazel-bin"),
                       "tests/integration/blocking_calls.so")

# Calls that may be made on a core thread: by the call and what it is on, and
# the function that it is made by, directly or not; and why. A call that is not
# here is a defect, or is to be added with its reason.
ALLOWED = (
    (r"open /sys/devices/system/cpu/\S+", "libabsl_base",
     "once in a process: how fast its clock is, which no medium has to tell"),
    ("nanosleep", "libabsl_synchronization",
     "a contended lock backs off, for a quarter of a millisecond at most"),
    ("close file|unlink .*", "ListenPort::Close",
     "as the process ends: the name of a socket and the lock beside it"),
    ("fallocate|ftruncate", "SharedRings::Create",
     "rings of a link in memory, of a bounded size: some milliseconds"),
    ("close file", "SocketLink::",
     "the descriptor of such rings, whose memory the unmapper gives back"),
)


class NamedCluster(LocalCluster):
  """Its nodes reach each other by names that blocking_calls.so knows."""

  names = None  # the file with them
  calls = None  # a folder for what is noted

  def command_for(self, name, arguments):
    if not re.fullmatch(r"n\d+", name):
      return arguments
    port = free_port()
    return ["env", f"LD_PRELOAD={LIBRARY}",
            f"KAMINO_TEST_NAMES={self.names}",
            f"KAMINO_TEST_CALLS={os.path.join(self.calls, name)}", *arguments,
            f"--link_listen=127.0.0.1:{port}",
            f"--link_advertise={name}.kamino.test:{port}"]


class CoreCallsTest(ClusterTest):
  maxDiff = None
  # A busy machine is no reason to leave a node out; a core that hangs is.
  start = {"nodes": 4, "heap_mb": 16, "ring_mb": 16,
           "failure_timeout_ms": 5000}
  cluster_class = NamedCluster

  def setUp(self):
    folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
    self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
    NamedCluster.names = os.path.join(folder, "names")
    NamedCluster.calls = os.path.join(folder, "calls")
    os.makedirs(NamedCluster.calls)
    with open(NamedCluster.names, "w", encoding="ascii") as f:
      f.writelines(f"n{i}.kamino.test 127.0.0.1\n" for i in range(1, 5))
    super().setUp()

  def name_server_hangs(self, hangs):
    path = NamedCluster.names + ".hang"
    if not hangs:
      os.unlink(path)
      return
    with open(path, "w", encoding="ascii"):
      pass

  def lose_members(self):
    """Members leave by a crash, and by a planned stop."""
    self.kamino("put", "a", "first")
    self.cluster.kill("n3")
    self.cluster.await_chain(["n1", "n2", "n4"], PATIENCE_S)
    view = self.cluster.chain()[1]
    for i in range(10):
      self.kamino("put", "a", str(i), "--timeout=30s")
      self.assertEqual(self.kamino("get", "a"), f"{i}\n")
    # No member has lost its lease meanwhile.
    self.assertEqual(self.cluster.chain()[1], view)
    self.cluster.kill("n4", signal.SIGTERM)
    self.cluster.await_chain(["n1", "n2"], PATIENCE_S)

  def go_on_with_all(self):
    self.kamino("put", "a", "back")
    self.cluster.restart("n3")
    self.cluster.restart("n4")
    self.cluster.await_chain(["n1", "n2", "n3", "n4"], PATIENCE_S)
    self.kamino("scan", "--limit=1")
    self.kamino("bench", "transfer", "--setup", "--count=200",
                "--accounts=10")

  def test_a_hanging_name_server_stops_no_node(self):
    """The survivors know where they reached each other."""
    self.name_server_hangs(True)
    self.lose_members()
    self.name_server_hangs(False)
    self.go_on_with_all()
    self.assertEqual(self.unexpected_calls(), [])

  def unexpected_calls(self):
    lines = set()
    for name in sorted(os.listdir(NamedCluster.calls)):
      with open(os.path.join(NamedCluster.calls, name),
                encoding="utf-8") as f:
        lines.update(f)
    self.assertTrue(lines, "nothing was noted: is there a thread named core?")
    functions = self.functions_of(lines)
    return sorted({
        found for found in (self.unexpected(line, functions)
                            for line in lines) if found is not None})

  def unexpected(self, line, functions):
    call, detail, frames = line.rstrip("\n").split("\t")
    way = [functions.get(frame, frame) for frame in frames.split()]
    text = f"{call} {detail}: {' < '.join(way)}"
    for of, by, _ in ALLOWED:
      if re.fullmatch(of, f"{call} {detail}".strip()) and re.search(by, text):
        return None
    return text

  def functions_of(self, lines):
    """Functions of the frames that are in the program itself."""
    frames = sorted({frame for line in lines
                     for frame in line.rstrip("\n").split("\t")[2].split()
                     if frame.startswith("kamino_node+")})
    done = subprocess.run(
        ["addr2line", "-f", "-C", "-e", self.cluster.binary("kamino_node"),
         *(hex(int(frame.split("+")[1], 16) - 1) for frame in frames)],
        stdout=subprocess.PIPE, text=True, timeout=PATIENCE_S, check=True)
    names = done.stdout.splitlines()[::2]
    return {frame: re.sub(r"\(.*", "", name)
            for frame, name in zip(frames, names)}


class SharedMemoryTest(CoreCallsTest):
  start = {**CoreCallsTest.start, "transport": "shm"}

  def test_a_hanging_name_server_stops_no_node(self):
    """The nodes do not ask it, but map memory and give it back."""
    self.lose_members()
    self.go_on_with_all()
    self.assertEqual(self.unexpected_calls(), [])


class OwnNameTest(unittest.TestCase):
  """A machine whose own name is 127.0.1.1 to itself, as on Debian."""

  def start(self, *flags):
    folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
    self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
    names = os.path.join(folder, "names")
    with open(names, "w", encoding="ascii") as f:
      f.write("n1.kamino.test 127.0.1.1\n")
    return subprocess.run(
        [Binaries().path("kamino_node"), "--cluster_id=c", "--node_id=n1",
         f"--data_dir={folder}/n1", "--heap_mb=16", "--ring_mb=16",
         "--pmem=force", "--managers=192.0.2.1:7000", "--insecure", *flags],
        env={**os.environ, "LD_PRELOAD": LIBRARY, "KAMINO_TEST_NAMES": names},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, timeout=PATIENCE_S, check=False)

  def test_a_loopback_name_is_refused_with_remote_managers(self):
    for flags, flag in (
        (("--listen=n1.kamino.test:0", "--link_listen=n1.kamino.test:0"),
         "--link_listen is n1.kamino.test:0, which is bound to 127.0.1.1:"),
        (("--listen=n1.kamino.test:0", "--link_listen=0.0.0.0:0",
          "--link_advertise=192.0.2.7:0"),
         "--listen is n1.kamino.test:0, which is bound to 127.0.1.1:")):
      done = self.start(*flags)
      self.assertEqual(done.returncode, 2, done.stderr)
      self.assertIn(flag, done.stderr)


if __name__ == "__main__":
  main()
