"""What nodes do on their core threads: no call that may block, also while the
name server hangs and a member dies. See blocking_calls.cc."""

import os
import re
import subprocess

from harness import ClusterTest, free_port, main
from local_cluster import LocalCluster

PATIENCE_S = 60
# The tree that Bazel has made for the test.
LIBRARY = os.path.join(os.environ.get("KAMINO_BIN_ROOT", "bazel-bin"),
                       "tests/integration/blocking_calls.so")

# Calls that may be made on a core thread: by the call and what it is on, and
# the function that it is made by, directly or not; and why. A call that is not
# here is a defect, or is to be added with its reason.
ALLOWED = ()


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
  # A busy machine is no reason to leave a node out; a core that hangs is.
  start = {"nodes": 4, "heap_mb": 16, "ring_mb": 16,
           "failure_timeout_ms": 5000}
  cluster_class = NamedCluster

  def setUp(self):
    folder = os.environ.get("TEST_TMPDIR") or "/tmp"
    NamedCluster.names = os.path.join(folder, f"names-{os.getpid()}")
    NamedCluster.calls = os.path.join(folder, f"calls-{os.getpid()}")
    os.makedirs(NamedCluster.calls)
    with open(NamedCluster.names, "w", encoding="ascii") as f:
      f.writelines(f"n{i}.kamino.test 127.0.0.1\n" for i in range(1, 5))
    super().setUp()

  def test_a_name_server_that_hangs_stops_nothing(self):
    hang = NamedCluster.names + ".hang"
    self.kamino("put", "a", "0")
    with open(hang, "w", encoding="ascii"):
      pass
    self.cluster.kill("n3")
    # Lookups do not return: the survivors know where they reached each other.
    self.cluster.await_chain(["n1", "n2", "n4"], PATIENCE_S)
    view = self.cluster.chain()[1]
    for i in range(10):
      self.kamino("put", "a", str(i), "--timeout=30s")
      self.assertEqual(self.kamino("get", "a"), f"{i}\n")
    # Nobody has lost its lease meanwhile.
    self.assertEqual(self.cluster.chain()[1], view)
    # Nor is a node's end held up.
    self.cluster.kill("n4", 15)
    self.cluster.await_chain(["n1", "n2"], PATIENCE_S)
    os.unlink(hang)
    self.kamino("put", "a", "back")
    self.cluster.restart("n3")
    self.cluster.restart("n4")
    self.cluster.await_chain(["n1", "n2", "n3", "n4"], PATIENCE_S)
    self.kamino("scan", "--limit=1")
    self.kamino("bench", "transfer", "--count=200", "--accounts=10")
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
    """By frame, of those that are in the program itself."""
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


if __name__ == "__main__":
  main()
