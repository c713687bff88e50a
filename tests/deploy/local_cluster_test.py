"""LocalCluster with programs that only listen: ports, processes, failures."""

import ast
import json
import os
import signal
import socket
import subprocess
import sys
from unittest import mock
import unittest

from programs import ROOT, ProgramTest

sys.path.insert(0, os.path.join(ROOT, "deploy", "local"))
# pylint: disable=wrong-import-position
from binaries import Binaries
import local_cluster
from local_cluster import LocalCluster, default_parent, needed_mb
import processes
from processes import TIME_SCALE, ClusterError, listens, start_time

# Listens where its flags say until a signal comes.
SERVER = f"""#!{sys.executable}
import re, signal, socket, sys
words = " ".join(sys.argv)
host, port = re.search(
    r"--listen(?:-client-urls)?=(?:http://)?([0-9.]+):(\\d+)", words).groups()
%s
s = socket.socket()
s.bind((host, int(port)))
s.listen()
signal.pause()
"""
# A chain of as many nodes as it has seeds.
KAMINO = f"""#!{sys.executable}
import json, sys
seeds = sys.argv[1].split("=")[1].split(",")
words = [word for word in sys.argv[2:] if not word.startswith("--")]
if words[0] == "wait":
  import signal
  print("waiting", file=open(words[1], "w"))
  signal.pause()
print(json.dumps({{"view_id": "1", "nodes": [
    {{"node_id": "n" + str(i)}} for i in range(1, len(seeds) + 1)]}}))
"""


class WaitUntilTest(unittest.TestCase):

  def pauses(self, costs):
    """The pauses after conditions that take `costs` seconds."""
    left = [*costs, 0]
    now = 0

    def condition():
      nonlocal now
      now += left.pop(0)
      return not left

    with mock.patch.object(processes.time, "sleep") as sleep:
      processes.wait_until(condition, 60, "the last", cost=lambda: now)
    return [call.args[0] for call in sleep.call_args_list]

  def test_pauses_yield_the_processor(self):
    self.assertEqual(self.pauses([0, 0.001, 2, 100]),
                     [processes.POLL_S, processes.POLL_S, 4,
                      processes.MOST_POLL_S])


class LocalClusterTest(ProgramTest):

  def setUp(self):
    super().setUp()
    self.program("client/cli/kamino", KAMINO)
    self.program("membership/kamino_manager", SERVER % "")
    self.program("node/kamino_node", SERVER % "")
    self.program("etcd", SERVER % "")
    environment = mock.patch.dict(
        os.environ, KAMINO_BIN_ROOT=self.bin, PATH=self.environment["PATH"])
    environment.start()
    self.addCleanup(environment.stop)
    self.cluster = self.open()
    self.addCleanup(self.cluster.destroy)

  def open(self):
    return LocalCluster(os.path.join(self.folder, "c"), Binaries())

  def start(self, cluster=None):
    (cluster or self.cluster).start(nodes=2, heap_mb=16)

  def test_starts_stops_and_removes(self):
    self.start()
    self.assertEqual(list(self.cluster.state["processes"]),
                     ["etcd", "manager", "n1", "n2"])
    pids = [p["pid"] for p in self.cluster.state["processes"].values()]
    for name, record in self.cluster.state["processes"].items():
      port = int(self.cluster.state["addresses"][name].split(":")[1])
      self.assertTrue(listens(record["pid"], port), name)
    self.cluster.stop()
    self.assertEqual([start_time(pid) for pid in pids], [None] * 4)
    self.assertTrue(os.path.exists(self.cluster.log_path("n1")))
    self.cluster.destroy()
    self.assertFalse(os.path.exists(self.cluster.folder))

  def test_another_caller_finds_the_cluster(self):
    self.start()
    other = self.open()
    self.assertTrue(other.alive("n2"))
    self.assertEqual(other.seeds, self.cluster.seeds)
    other.kill("n2")
    self.assertFalse(self.cluster.alive("n2"))

  def test_commands_of_a_slow_machine_get_a_longer_timeout(self):
    self.start()
    self.program("client/cli/kamino",
                 f"#!{sys.executable}\nimport sys\nprint(sys.argv[2:])\n")

    def words(*given):
      return ast.literal_eval(self.cluster.kamino(*given).stdout)

    with mock.patch.dict(os.environ, {TIME_SCALE: "1"}):
      self.assertEqual(words("get", "k"), ["get", "k"])
      self.cluster.patience = 5
      self.assertEqual(words("get", "k"), ["--timeout=50s", "get", "k"])
      self.assertEqual(words("get", "k", "--timeout=1s"),
                       ["get", "k", "--timeout=1s"])
    self.cluster.patience = 1
    with mock.patch.dict(os.environ, {TIME_SCALE: "3"}):
      self.assertEqual(words("get", "k"), ["--timeout=30s", "get", "k"])

  def test_a_second_start_does_not_touch_the_first_cluster(self):
    self.start()
    with self.assertRaisesRegex(ClusterError,
                                "holds a cluster already, which runs; destroy"):
      self.start(self.open())
    for name in self.cluster.state["processes"]:
      self.assertTrue(self.cluster.alive(name), name)

  def test_a_stopped_cluster_is_restarted_and_not_started(self):
    self.start()
    self.cluster.stop()
    with self.assertRaisesRegex(ClusterError, "is stopped; restart goes on"):
      self.start(self.open())
    other = self.open()
    other.restart()
    self.addCleanup(other.stop)
    self.assertTrue(other.alive("n2"))

  def test_help_describes_the_options_of_start(self):
    done = subprocess.run(
        [os.path.join(ROOT, "deploy", "local", "cluster"), "start", "--help"],
        stdout=subprocess.PIPE, text=True, check=True)
    options = " ".join(done.stdout.split())
    for text in ("1 to 16 (default: 4)", "verbs (RDMA)", "written last",
                 "in MiB, from 16 on (default: 128)"):
      self.assertIn(text, options)

  def test_a_folder_with_other_files_is_refused(self):
    os.mkdir(self.cluster.folder)
    path = os.path.join(self.cluster.folder, "precious")
    with open(path, "w", encoding="ascii"):
      pass
    with self.assertRaisesRegex(ClusterError, "is not empty"):
      self.start()
    self.assertTrue(os.path.exists(path))

  def test_a_foreign_process_is_not_killed(self):
    """Its id is in state.json, but it began at another time."""
    self.start()
    with subprocess.Popen(["sleep", "1000"]) as stranger:
      self.cluster.kill("n2")
      self.cluster.state["processes"]["n2"]["pid"] = stranger.pid
      self.assertFalse(self.cluster.alive("n2"))
      with self.assertRaisesRegex(ClusterError, "n2 does not run"):
        self.cluster.kill("n2")
      self.cluster.stop()
      self.assertIsNone(stranger.poll())
      stranger.kill()

  def test_a_taken_port_is_replaced(self):
    """A stranger listens there: that it answers does not count."""
    self.start()
    with socket.create_server(("127.0.0.1", 0)) as stranger:
      taken = stranger.getsockname()[1]
      ports = [taken, taken, local_cluster.free_port()]
      with mock.patch.object(local_cluster, "free_port", lambda: ports.pop(0)):
        self.cluster.start_node("n3")
    self.assertTrue(self.cluster.alive("n3"))
    self.assertNotIn(str(taken), self.cluster.state["addresses"]["n3"])

  def test_a_port_that_stays_taken_is_an_error(self):
    self.start()
    with socket.create_server(("127.0.0.1", 0)) as stranger:
      taken = stranger.getsockname()[1]
      with mock.patch.object(local_cluster, "free_port", lambda: taken):
        with self.assertRaisesRegex(
            ClusterError, "n3 did not start: (?s:.*)already in use"):
          self.cluster.start_node("n3")

  def test_a_failed_start_reports_why_and_leaves_no_process(self):
    self.program("node/kamino_node",
                 "#!/bin/sh\necho first; echo no such pmem >&2; exit 1\n")
    with self.assertRaisesRegex(ClusterError,
                                "n1 did not start: (?s:.*)no such pmem"):
      self.start()
    for name in ("etcd", "manager"):
      self.assertFalse(self.cluster.alive(name), name)

  def script(self, *words):
    return subprocess.run(
        [os.path.join(ROOT, "deploy", "local", "cluster"), *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        check=False)

  def test_the_shells_certificate_variables_are_not_passed_on(self):
    seen = os.path.join(self.folder, "seen")
    self.program("client/cli/kamino", KAMINO.replace(
        "import json, sys\n", "import json, os, sys\n"
        f"print(*[n for n in os.environ if n.startswith('KAMINO_TLS_') or "
        f"n == 'KAMINO_INSECURE'], file=open({seen!r}, 'w'))\n"))
    with mock.patch.dict(os.environ, KAMINO_TLS_CERT="/x", KAMINO_INSECURE="1",
                         KAMINO_TLS_CA="/x"):
      self.start()
    with open(seen, encoding="ascii") as f:
      self.assertEqual(f.read(), "\n")

  def test_the_script_unsets_certificate_variables(self):
    self.start()
    told = self.script("env", f"--dir={self.cluster.folder}").stdout
    for quote in ('"', ""):  # as one line, too
      done = subprocess.run(
          ["sh", "-c", f"eval {quote}$TOLD{quote}; "
                       "echo \"${KAMINO_TLS_CA-unset} $KAMINO_SEEDS\""],
          env={**os.environ, "TOLD": told, "KAMINO_TLS_CA": "/x"},
          stdout=subprocess.PIPE, text=True, check=True)
      self.assertEqual(done.stdout, f"unset {self.cluster.seeds}\n", told)

  def test_the_error_tells_why_a_chain_does_not_form(self):
    self.program("client/cli/kamino",
                 "#!/bin/sh\necho kamino: no way there >&2; exit 3\n")
    wait_until = local_cluster.wait_until
    def wait_less(condition, timeout, what):
      """For the chain alone, whose text is made at the end."""
      return wait_until(condition, 0.1 if callable(what) else timeout, what)
    with mock.patch.object(local_cluster, "wait_until", wait_less):
      with self.assertRaisesRegex(
          ClusterError, r"for the chain to form \(logs .*\): kamino status "
          r".*: exit 3: kamino: no way there$"):
        self.start()

  def test_the_script_explains_an_invalid_number(self):
    for value in ("abc", "0", "17"):
      done = self.script("start", f"--nodes={value}", f"--dir={self.folder}/s")
      self.assertEqual(done.returncode, 2, done.stderr)
      self.assertIn("argument --nodes: must be a whole number from 1 to 16, "
                    f"not {value}\n", done.stderr)

  def test_an_interrupted_start_reports_leftovers(self):
    began = os.path.join(self.folder, "began")
    self.program("node/kamino_node",
                 f"#!/bin/sh\n: >{began}; exec sleep 1000\n")
    folder = os.path.join(self.folder, "s")
    with subprocess.Popen(
        [os.path.join(ROOT, "deploy", "local", "cluster"), "start",
         "--heap_mb=16", f"--dir={folder}"], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True) as script:
      local_cluster.wait_until(lambda: os.path.exists(began), 10,
                               "a node to begin")
      script.send_signal(signal.SIGTERM)  # as Ctrl-C, which may be ignored
      _, errors = script.communicate(timeout=60)
    self.assertEqual(script.returncode, 130, errors)
    self.assertIn("cluster: interrupted\n", errors)
    self.assertIn(f"deploy/local/cluster destroy --dir={folder}\n", errors)
    self.assertEqual(self.script("destroy", f"--dir={folder}").returncode, 0)

  def test_a_failed_start_of_the_script_reports_leftovers(self):
    self.program("node/kamino_node",
                 "#!/bin/sh\necho no such pmem >&2; exit 1\n")
    folder = os.path.join(self.folder, "s")
    cluster = self.script
    done = cluster("start", "--heap_mb=16", f"--dir={folder}")
    self.assertEqual(done.returncode, 1)
    self.assertIn("no such pmem", done.stderr)
    self.assertIn(f"the cluster in {folder} has not formed, and nothing of it "
                  "runs; its logs are there until you remove them: "
                  f"deploy/local/cluster destroy --dir={folder}", done.stderr)
    done = cluster("start", f"--dir={folder}")
    self.assertIn("never came to be; destroy it first", done.stderr)
    self.assertIn("no such pmem",
                  cluster(f"--dir={folder}", "logs", "n1").stdout)
    self.assertEqual(cluster("destroy", f"--dir={folder}").returncode, 0)
    self.assertFalse(os.path.exists(folder))

  def test_missing_programs_are_an_error(self):
    os.remove(os.path.join(self.bin, "node/kamino_node"))
    with self.assertRaisesRegex(ClusterError, "kamino_node is not in .*make"):
      self.start()

  def test_insufficient_space_is_an_error(self):
    with self.assertRaisesRegex(ClusterError, "has room for .* smaller "
                                              "--heap_mb"):
      self.cluster.start(nodes=4, heap_mb=1 << 30)

  def test_a_paused_process_ends_too(self):
    self.start()
    pid = self.cluster.state["processes"]["n1"]["pid"]
    self.cluster.kill("n1", signal.SIGSTOP)
    self.cluster.stop()
    self.assertIsNone(start_time(pid))

  def test_commands_end_with_the_cluster(self):
    self.start()
    began = os.path.join(self.folder, "began")
    done = []
    thread = local_cluster.threading.Thread(target=lambda: done.append(
        self.cluster.kamino("wait", began, check=False)))
    thread.start()
    local_cluster.wait_until(lambda: os.path.exists(began), 10, "the command")
    self.cluster.stop()
    thread.join()
    self.assertEqual(done[0].returncode, -signal.SIGKILL)

  def test_a_command_times_out(self):
    self.start()
    with self.assertRaisesRegex(ClusterError, "wait did not end within"):
      self.cluster.kamino("wait", os.path.join(self.folder, "began"),
                          timeout=0.2)

  def test_state_of_another_user_is_not_trusted(self):
    self.start()
    with mock.patch.object(os, "getuid", lambda: os.stat(
        self.folder).st_uid + 1):
      with self.assertRaisesRegex(ClusterError, "belongs to another user"):
        self.open()

  def test_the_state_is_valid_json_at_all_times(self):
    self.start()
    with open(os.path.join(self.cluster.folder, "state.json"),
              encoding="utf-8") as f:
      self.assertEqual(json.load(f), self.cluster.state)


class RoomTest(unittest.TestCase):

  def test_small_shared_memory_is_not_used(self):
    small = mock.Mock(free=64 << 20)
    with mock.patch.object(local_cluster.shutil, "disk_usage",
                           return_value=small):
      self.assertNotEqual(default_parent(), local_cluster.SHARED_MEMORY)

  def test_needed_space_depends_on_the_configuration(self):
    self.assertEqual(
        needed_mb(2, "simple", 100, 10) - needed_mb(0, "simple", 100, 10), 420)
    self.assertLess(needed_mb(undo_copy="dynamic"),
                    needed_mb(undo_copy="simple"))
    self.assertLess(needed_mb(undo_copy="log"), needed_mb(undo_copy="dynamic"))


if __name__ == "__main__":
  unittest.main(verbosity=2)
