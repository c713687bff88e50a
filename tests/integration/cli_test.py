"""The command line: words, forms of output, and what it refuses."""

import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
from unittest import mock

from harness import (ENDLESS, ClusterTest, Load, free_port, main, patience,
                     wait_until)
from local_certificates import OPERATOR, LocalCertificates


class Zsh:
  """A real one, at a terminal."""

  def __init__(self, folder, setup):
    self.setup = setup
    self.output = b""
    self.terminal, inside = pty.openpty()
    self.process = subprocess.Popen(
        ["zsh", "-f", "-i"], stdin=inside, stdout=inside, stderr=inside,
        cwd=folder, start_new_session=True,
        env={"PATH": os.environ["PATH"], "HOME": folder, "TERM": "dumb"})
    os.close(inside)

  def __enter__(self):
    # A word that is told apart from its echo.
    self.type(self.setup + "; unsetopt prompt_cr; print REA''DY\n")
    self.read_until(b"READY\r")
    return self

  def __exit__(self, *_):
    self.process.kill()
    self.process.wait()
    os.close(self.terminal)

  def type(self, text):
    os.write(self.terminal, text.encode())

  def read_until(self, mark):
    wait_until(lambda: self._read() or mark in self.output, 30,
               f"zsh to say {mark}, not {self.output}")

  def _read(self):
    while select.select([self.terminal], [], [], 0)[0]:
      self.output += os.read(self.terminal, 1 << 16)

  def complete(self, line):
    """The line after a TAB, which is printed instead of run."""
    self.type(line + "\t\x01print -r -- 'li''ne=<\x05>'\n")
    self.read_until(b">\r\n")
    return self.output.split(b"line=<")[-1].split(b">\r\n")[0].decode()


class CliTest(ClusterTest):
  start = {"nodes": 3, "heap_mb": 16, "ring_mb": 16}

  def bytes_of(self, *words):
    """Standard output as it is."""
    command = [self.cluster.binary("kamino"),
               f"--seeds={self.cluster.seeds}", *words]
    return subprocess.run(command, stdout=subprocess.PIPE, timeout=patience(30),
                          check=True).stdout

  def path(self, name, content=b""):
    path = os.path.join(self.folder, name)
    with open(path, "wb") as f:
      f.write(content)
    return path

  def test_values_that_look_like_options(self):
    self.kamino("put", "neg", "-5")
    self.assertEqual(self.kamino("get", "neg"), "-5\n")
    self.kamino("put", "get", "put")  # names of commands
    self.assertEqual(self.kamino("get", "get"), "put\n")
    self.kamino("put", "--", "--key", "--json")
    self.assertEqual(self.kamino("get", "--", "--key"), "--json\n")
    self.kamino("commit", "put", "list", "[1,2]", "put", "if", "else")
    self.assertEqual(self.kamino("get", "list"), "[1,2]\n")
    self.kamino("commit", "put", "dashes", "--", "--json")
    self.assertEqual(self.kamino("get", "dashes"), "--json\n")
    self.kamino("commit", "--", "put", "a", "b")
    self.assertEqual(self.kamino("get", "a"), "b\n")
    self.kamino("put", "empty", "")
    self.assertEqual(self.bytes_of("get", "empty", "--raw"), b"")

  def test_bytes_round_trip(self):
    value = bytes(range(256)) + "Grüße\t世界\n".encode()
    path = self.path("value", value)
    self.kamino("put", "bytes", f"--file={path}")
    self.assertEqual(self.bytes_of("get", "bytes", "--raw"), value)
    self.assertEqual(self.bytes_of("get", "bytes", "--output=raw"), value)
    self.assertEqual(self.kamino("get", "bytes", "--hex"), value.hex() + "\n")
    copy = self.path("copy")
    self.kamino("get", "bytes", "-o", copy)
    with open(copy, "rb") as f:
      self.assertEqual(f.read(), value)
    self.kamino("put", "text", "Grüße, 世界")
    scanned = self.bytes_of("scan")
    self.assertIn("text\tGrüße, 世界\n".encode(), scanned)
    for key in ("bytes", "text"):
      self.kamino("del", key)
    self.kamino("load", "tsv", self.path("all.tsv", scanned))
    self.assertEqual(self.bytes_of("scan"), scanned)
    self.assertEqual(self.bytes_of("get", "bytes", "--raw"), value)

  def test_options_of_other_commands_are_refused(self):
    for words in (("get", "a", "--count=3"), ("put", "a", "b", "--watch"),
                  ("status", "--keys_only"), ("scan", "--nonsense")):
      self.kamino(*words, expect=2, stderr=words[-1])
    self.kamino("commit", "put", "a", "b", "--nonsense", expect=2,
                stderr="--nonsense")
    self.kamino("get", "a", "--timeout=soon", expect=2, stderr="duration")
    self.kamino("get", "a", "--output=JSON", expect=2, stderr="--output")
    for words in (("scan", "--limit=-1"), ("get", "a", "--offset=-1"),
                  ("patch", "a", "-1", "x"), ("outcome", "-1", "1")):
      self.kamino(*words, expect=2, stderr="below 0")

  def test_read_and_write_failures_are_errors(self):
    self.kamino("put", "a", "b")
    kamino = self.cluster.binary("kamino")
    for words in (("get", "a"), ("scan",), ("status",), ("put", "a", "c")):
      with open("/dev/full", "wb") as full:
        done = subprocess.run([kamino, f"--seeds={self.cluster.seeds}", *words],
                              stdout=full, stderr=subprocess.PIPE,
                              timeout=patience(30),
                              check=False)
      self.assertEqual(done.returncode, 1, words)
      self.assertIn(b"cannot write to standard output", done.stderr)
      self.assertIn(b"; everything else the command does succeeded",
                    done.stderr)
    self.assertEqual(self.kamino("get", "a"), "c\n")
    self.kamino("get", "a", "-o", "/dev/full", expect=1, stderr="cannot write")
    for kind in ("tsv", "dpkg"):
      self.kamino("load", kind, self.folder, expect=2, stderr="cannot read")

  def test_input_that_ends_in_an_error_is_no_value(self):
    self.kamino("put", "precious", "b")
    kamino = self.cluster.binary("kamino")
    put = f"{kamino} --seeds={self.cluster.seeds} put precious --file=-"
    for stdin in ("<&-", "</tmp", "</dev/zero"):
      done = subprocess.run(f"{put} {stdin}", shell=True, timeout=patience(30),
                            stderr=subprocess.PIPE, check=False)
      self.assertEqual(done.returncode, 2, stdin)
      self.assertIn(b"cannot read standard input", done.stderr)
    self.assertEqual(self.kamino("get", "precious"), "b\n")
    for log, code in (("/no/such/folder/log", 2), ("/dev/full", 1)):
      done = self.cluster.kamino("bench", "transfer", "--setup", "--count=9",
                                 f"--acked_log={log}", check=False)
      self.assertEqual(done.returncode, code, done.stderr)
      self.assertIn(f"kamino: cannot write {log}: No s", done.stderr)

  def test_numbers_are_decimal_and_an_empty_value_is_one(self):
    self.kamino("put", "number", "0123456789abcdef")
    self.kamino("patch", "number", "010", "X")
    self.assertEqual(self.kamino("get", "number", "--offset=08", "--length=4"),
                     "89Xb\n")
    # Another cluster would answer "not committed".
    self.kamino("outcome", "5", "1", "1", "--cluster_uuid=" + "f" * 32,
                expect=2, stderr="sent to the cluster of uuid ffff")
    self.kamino("outcome", "5", "5", "99999", expect=2,
                stderr="kamino: since is 99999, ")
    self.kamino("outcome", "99999999999999999999999", "1", expect=2,
                stderr="no whole number")
    self.kamino("bench", "put", "--count=0x10", expect=2,
                stderr="no whole number")
    self.assertIn("number\t", self.kamino("scan", "--prefix="))
    self.kamino("scan", "--prefix=", "number", expect=2, stderr="--prefix")
    self.assertIn("bnVtYmVy\t", self.kamino(
        "scan", "--prefix=bnVtYg==", "--key_encoding=base64"))
    self.kamino("commit", "put", "number", "-y", expect=2, stderr="-y")
    done = self.cluster.kamino("get", "k", os.fsdecode(b"\xff"), "--json",
                               check=False)
    self.assertEqual(done.returncode, 2)
    self.assertIn("\\xff", json.loads(done.stderr)["error"]["message"])

  def test_load_keeps_the_last_line_of_a_key(self):
    lines = "".join(f"k{key}\t{i}\n" for i in range(100) for key in range(5))
    done = self.cluster.kamino("load", "tsv",
                               self.path("dup.tsv", lines.encode()))
    self.assertEqual(done.stderr, "")  # all went well
    self.assertEqual(self.kamino("scan", "--prefix=k"),
                     "".join(f"k{key}\t99\n" for key in range(5)))

  def test_errors_as_json(self):
    done = self.cluster.kamino("get", "none", "--json", check=False)
    error = json.loads(done.stderr)["error"]
    self.assertEqual((done.returncode, error["code"], error["reason"]),
                     (1, "NOT_FOUND", "REASON_KEY_NOT_FOUND"))
    self.assertIn("none", error["message"])
    for words, named in (
        (("--json", "get", "a", "--seeds=foo"), "foo"),
        (("get", "a", "--json", "--timeout=abc"), "--timeout"),
        (("get", "a", "--output", "json", "--carrier=x"), "--carrier"),
        (("admin", "status", "--json", "--managers=foo"), "foo"),
        (("get", "a", "--managers", "--json"), "--managers"),
        (("get", "--json"), "KEY is required")):
      done = self.cluster.kamino(*words, check=False)
      error = json.loads(done.stderr)["error"]
      self.assertEqual((done.returncode, error["code"]),
                       (2, "INVALID_ARGUMENT"), words)
      self.assertIn(named, error["message"])
    # The library fails before it comes to the command's option.
    done = self.cluster.kamino("get", "a", "--json", seeds="foo", check=False)
    self.assertIn("foo", json.loads(done.stderr)["error"]["message"])

  def test_a_failed_condition_is_an_error(self):
    self.kamino("put", "a", "1")
    words = ("commit", "if", "version", "a", "9", "if", "absent", "a", "then",
             "put", "a", "2", "else", "get", "a")
    done = self.cluster.kamino(*words, check=False)
    self.assertEqual(done.returncode, 1)
    self.assertIn("a\t1\nconditions did not hold, version ", done.stdout)
    self.assertEqual(done.stderr, "kamino: conditions on these keys did not "
                                  "hold: a, a [conflict]\n")
    done = self.cluster.kamino(*words, "--json", check=False)
    self.assertEqual(done.returncode, 1)
    self.assertFalse(json.loads(done.stdout)["succeeded"])
    error = json.loads(done.stderr)["error"]
    self.assertEqual((error["code"], error["reason"], error["keys"]),
                     ("ABORTED", "REASON_CONFLICT", ["YQ==", "YQ=="]))
    self.assertEqual(self.kamino("get", "a"), "1\n")

  def test_only_one_output_format_is_accepted(self):
    self.kamino("put", "a", "b\tc")
    for output in ("--json", "--raw", "--output=json"):
      self.kamino("get", "a", "--hex", output, expect=2, stderr="--hex")
    for first, second in (
        (("--json",), ("--raw",)), (("--output=json",), ("--raw",)),
        (("--output=table",), ("--json",))):
      for words in ((*first, "get", "a", *second),
                    ("get", "a", *first, *second)):
        self.kamino(*words, expect=2, stderr=f"{first[0]} and {second[0]} "
                    "contradict each other; give one of them")
    self.kamino("get", "a", "--output=json", "--output=raw", expect=2,
                stderr="--output is given twice; give it once")
    self.kamino("--json", "get", "a", "--output=json")  # the same twice
    self.assertEqual(self.kamino("scan", "a", "b"), "a\tb\\tc\n")
    self.assertEqual(self.kamino("scan", "a", "b", "--raw"), "a\tb\tc\n")

  def test_usage_errors_are_explained(self):
    for words, said in (
        (("gett", "a"), "there is no command gett (did you mean get?); see "
         "kamino help\n"),
        (("admin", "drian", "n1"), "there is no command admin drian (did you "
         "mean drain?); see kamino help admin\n"),
        (("admin", "stauts"), "there is no command admin stauts (did you mean "
         "status?); see kamino help admin\n"),
        (("backup",), "kamino backup needs a command: save, verify, restore or "
         "hash; see kamino help backup\n"),
        (("get", "a", "b"), "kamino get takes no further word: b; see"),
        (("get", "a", "--any_replika"), "kamino get has no option "
         "--any_replika (did you mean --any_replica?); see kamino help get"),
        (("load", "csv", "x"), "KIND: csv is none of tsv, dpkg; see"),
        (("\x1b[31mget",), "there is no command \\x1b[31mget"),
        (("get",), "KEY is required; see kamino help get\n"),
        (("set", "a", "b"), "there is no command set (did you mean put?); see"),
        (("delete", "a"), "there is no command delete (did you mean del?); "),
        (("help", "delete"), "there is no command delete (did you mean del?)"),
        (("help", "admin", "drian"), "there is no command admin drian (did you "
         "mean drain?); kamino help admin lists them\n"),
        (("get", "a", "--managers"), "--managers needs a value: HOST:PORT,...; "
         "see kamino help get\n"),
        (("get", "a", "--timeout=0s"), "--timeout: it must be over 0, not 0s; "
         "see kamino help get\n"),
        (("get", "a", "--timeout=1s", "--timeout=2s"), "--timeout is given "
         "twice; give it once; see kamino help get\n"),
        (("get", "a", *["--carrier=tcp"] * 3), "--carrier is given 3 times; "
         "give it once; see kamino help get\n"),
        (("bench", "put", "--keys=1"), "--keys is 1; it must be from 2 to "
         "18446744073709551615; see kamino help bench put\n")):
      self.kamino(*words, expect=2, stderr="kamino: " + said)

  def test_progress_has_its_own_lines(self):
    backup = self.path("b.kmb", b"")
    self.kamino("put", "a", "b")
    self.kamino("backup", "save", "--force", backup)
    for damage, verdict in ((False, b"backup     "), (True, b"kamino: ")):
      if damage:
        os.truncate(backup, os.path.getsize(backup) - 1)
      said = self.on_a_terminal("backup", "verify", backup)
      before, found, _ = said.partition(verdict)
      self.assertTrue(found, said)
      self.assertIn(b"verifying: ", before, said)
      self.assertTrue(before.endswith(b"\n"), said)

  def on_a_terminal(self, *words):
    """All that a command says there."""
    terminal, inside = pty.openpty()
    try:
      with subprocess.Popen([self.cluster.binary("kamino"), *words],
                            stdin=inside, stdout=inside, stderr=inside) as run:
        run.wait(patience(30))
      said = b""
      while select.select([terminal], [], [], 0)[0]:
        said += os.read(terminal, 1 << 16)
      return said
    finally:
      os.close(inside)
      os.close(terminal)

  def test_requests_refused_locally_are_usage_errors(self):
    self.kamino("put", "a", "b")
    for words in (("put", "", "x"), ("get", ""), ("get", "k" * 1025),
                  ("call", "", "x"), ("call", "\x01", "x"),
                  ("call", "bank transfer", "x"), ("call", "p" * 129, "x"),
                  ("outcome", "0", "1")):
      self.kamino(*words, expect=2, stderr="[invalid argument]")
    self.kamino("get", "a", "-o", "/nope/x", expect=2,
                stderr="cannot write /nope/x: No such file")
    self.kamino("put", "a", "--file=/nope", expect=2,
                stderr="cannot read /nope: No such file")

  def load(self, *words, stdin=b""):
    command = [self.cluster.binary("kamino"),
               f"--seeds={self.cluster.seeds}", "load", *words]
    done = subprocess.run(command, input=stdin, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=patience(30),
                          check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()

  def test_load_reads_standard_input(self):
    self.assertIn("loaded 2 objects",
                  self.load("tsv", "-", stdin=b"a\t1\nb\t2")[1])
    self.assertEqual(self.kamino("scan"), "a\t1\nb\t2\n")
    package = b"Package: zsh\nVersion: 5\n\n"
    self.assertIn("loaded 1 ", self.load("dpkg", "-", stdin=package)[1])
    self.assertEqual(self.kamino("get", "zsh"),
                     "Package: zsh\nVersion: 5\n\n")
    code, _, error = self.load("tsv", "-", stdin=b"a\t1\nb\n")
    self.assertEqual(code, 2)
    self.assertIn("standard input line 2: it has no tab", error)
    done = self.run_program(
        "sh", "-c", f"{self.cluster.binary('kamino')} load tsv - <&-")
    self.assertEqual(done.returncode, 2, done.stderr)
    self.assertIn("cannot read standard input", done.stderr)

  def test_load_of_invalid_files(self):
    self.kamino("load", "dpkg", self.path("none", b"a\t1\n"), expect=2,
                stderr="none names no packages")
    self.kamino("load", "tsv", self.path("empty_key", b"a\t1\n\tx\n"),
                expect=2, stderr="empty_key line 2: a key has 1 to 1,024 bytes")
    self.kamino("get", "a", expect=1, stderr="[key not found]")

  def test_the_largest_value_is_named(self):
    large = self.path("large", b"x" * (5 << 20))
    for option in ((), ("--hex",)):
      self.kamino("put", "a", f"--file={large}", *option, expect=2,
                  stderr="more than any value, which has at most 1 MiB")

  def test_servers_refuse_addresses_of_another_kind(self):
    addresses = self.cluster.state["addresses"]
    for name in ("n1", "etcd"):
      done = self.run_program(
          *self.cluster.node_command("x1", f"127.0.0.1:{free_port()}"),
          f"--managers= {addresses[name]} ")
      self.assertEqual(done.returncode, 1, done.stderr)
      self.assertTrue(done.stderr.splitlines()[-1].endswith(
          f"] kamino_node: {addresses[name]} answers, but is no manager "
          "(a node or etcd, perhaps); check --managers"), done.stderr)
    done = self.run_program(
        *self.cluster.node_command("x1", f"127.0.0.1:{free_port()}"),
        "--managers=http://127.0.0.1:1")
    self.assertEqual(done.returncode, 2)
    self.assertIn("leave out the scheme and its ://", done.stderr)

  def test_status_reports_missing_nodes(self):
    managers = "--managers=" + ",".join(
        self.cluster.addresses_of(self.cluster.managers))
    self.assertNotIn("the chain has", self.kamino("admin", "status", managers))
    self.kamino("admin", "remove", "n3", managers)
    self.assertTrue(self.kamino("admin", "status", managers).endswith(
        "\nthe chain has 2 of 3 nodes\n"))

  def test_an_error_tells_that_the_server_has_no_tls(self):
    certificates = LocalCertificates(os.path.join(self.folder, "certificates"),
                                     self.cluster.binary("kamino"))
    certificates.make("local")
    done = self.run_program(
        self.cluster.binary("kamino"), f"--seeds={self.cluster.seeds}",
        *certificates.flags(OPERATOR), "get", "a", "--timeout=3s")
    self.assertEqual(done.returncode, 3, done.stderr)
    self.assertIn("(the server does not use TLS: leave out the certificates, "
                  "--tls_*", done.stderr)
    # This is of the shell, and not of the cluster.
    with mock.patch.dict(os.environ, certificates.environment(OPERATOR)):
      self.kamino("put", "a", "b")

  def test_a_get_with_an_offset_past_the_end(self):
    self.kamino("put", "k", "abc")
    self.kamino("get", "k", "--offset=5", expect=1,
                stderr='bytes from 5 on are not within the 3 bytes of "k"')
    self.kamino("get", "k", "--offset=1", "--length=3", expect=1,
                stderr='bytes [1, 1 + 3) are not within the 3 bytes of "k"')

  def test_a_manager_of_another_cluster(self):
    manager = self.cluster.state["addresses"]["manager"]
    done = self.run_program(
        *self.cluster.node_command("x1", f"127.0.0.1:{free_port()}"),
        "--cluster_id=k")
    self.assertEqual(done.returncode, 1, done.stderr)
    self.assertIn(f"this is the manager of cluster local at {manager}, not of "
                  "cluster k; check the node's --managers and --cluster_id",
                  done.stderr)

  def test_status_of_an_unreachable_chain(self):
    managers = "--managers=" + ",".join(
        self.cluster.addresses_of(self.cluster.managers))
    self.kamino("admin", "remove", "n3", managers)
    self.cluster.await_chain(["n1", "n2"])
    self.cluster.kill("manager")
    self.cluster.kill("n2")
    # One node that tells its state is enough.
    self.assertIn("unreachable", self.kamino("status"))
    # Nodes outside the chain know its members.
    self.cluster.kill("n1")
    self.assertEqual(self.kamino("status", expect=3,
                                 stderr="no node's state is known").count(
                                     "unreachable"), 2)

  def test_without_etcd_the_manager_explains_why_it_does_not_lead(self):
    manager = self.cluster.state["addresses"]["manager"]
    self.cluster.kill("etcd")
    self.cluster.kill("manager")
    self.cluster.restart_manager()
    self.kamino("admin", "status", f"--managers={manager}", "--timeout=8s",
                expect=3, stderr="etcd at ")

  def test_help_ignores_other_options(self):
    self.assertIn("Usage: kamino put", self.kamino("help", "put", "--json"))

  def test_servers_of_another_kind(self):
    node = self.cluster.addresses_of(self.cluster.nodes)[0]
    manager = self.cluster.addresses_of(self.cluster.managers)[0]
    self.kamino("admin", "status", f"--managers={node}", expect=2,
                stderr=f"{node} answers, but is no manager (a node or etcd, "
                       "perhaps; operators call a manager's --admin_listen)")
    done = self.cluster.kamino("get", "a", check=False, seeds=manager)
    self.assertEqual(done.returncode, 2)
    self.assertIn(f"{manager} answers, but is no node (a manager or etcd, "
                  "perhaps)", done.stderr)
    # One that is right is enough.
    self.kamino("put", "a", "b")
    self.assertEqual(self.cluster.kamino(
        "get", "a", seeds=f"{manager},{node}").stdout, "b\n")
    with socket.create_server(("127.0.0.1", 0)) as silent:
      address = f"127.0.0.1:{silent.getsockname()[1]}"
      self.kamino("admin", "status", f"--managers={address}", "--timeout=2s",
                  expect=3, stderr="the process hangs, ")

  def test_a_bench_without_accounts_is_an_error(self):
    self.kamino("bench", "transfer", "--count=1", "--accounts=7", expect=1,
                stderr="there are no 7 accounts; kamino bench transfer "
                       "--setup --accounts=7 makes them")

  def test_an_interrupted_bench_prints_what_it_measured(self):
    self.open_bank()
    for number in (signal.SIGINT, signal.SIGTERM):
      load = Load(self.cluster, count=ENDLESS, log=f"{number}.log")
      load.await_acked(100)
      load.process.send_signal(number)
      load.join()
      self.assertEqual(load.done.returncode, 0, load.done.stderr)
      table = json.loads(load.done.stdout)
      self.assertEqual(table["ok"], len(load.transfers()))
      self.assertEqual(table["unknown"] + table["failed"], 0)
      self.assertRegex(load.done.stderr,
                       rf"^interrupted after \d+ of {ENDLESS} calls$")

  def test_named_clusters(self):
    seeds = ", ".join(f'"{s}"' for s in self.cluster.seeds.split(","))
    config = self.path("config.toml",
                       f"[clusters.here]\nseeds = [{seeds}]\n".encode())
    kamino = self.cluster.binary("kamino")
    done = self.run_program(kamino, "put", "a", "b", f"--config={config}",
                            "--cluster=here")
    self.assertEqual(done.returncode, 0, done.stderr)
    done = self.run_program(kamino, "get", "a", f"--config={config}",
                            "--cluster=there")
    self.assertEqual(done.returncode, 2)
    self.assertIn("no cluster there; it has here", done.stderr)

  def test_a_node_logs_why_it_ended(self):
    self.cluster.stop()
    self.assertIn("kamino_node has ended after signal TERM",
                  self.cluster.log_tail("n1", 1))

  def test_a_spare_has_no_place_to_keep(self):
    self.cluster.start_node("n4")
    self.cluster.kill("n4", signal.SIGTERM)
    log = self.cluster.log_tail("n4", 100)
    self.assertIn("this node is no member of the chain and ends without a "
                  "handover",
                  log)
    self.assertNotIn("keeps its place", log)

  def test_removing_the_last_copy_needs_force(self):
    managers = "--managers=" + ",".join(
        self.cluster.addresses_of(self.cluster.managers))
    self.assertEqual(self.kamino("admin", "remove", "n1", managers),
                     "n1 is out; the chain has 2 of 3 nodes: n2, n3\n")
    self.kamino("admin", "remove", "n2", managers, expect=1,
                stderr="alone, and lost with it; drain it once another node "
                       "has caught up, or force it: kamino admin remove "
                       "--force n2")
    cluster = json.loads(self.kamino("admin", "remove", "n2", managers,
                                     "--force", "--json"))
    self.assertEqual([n["member"]["node_id"] for n in cluster["nodes"]
                      if n["member"]["role"] != "outside"], ["n3"])
    self.cluster.await_chain(["n3"])
    self.assertIn(", mode kamino\n", self.kamino("status"))
    self.assertEqual(self.kamino("admin", "add", "n9", managers),
                     "no node n9 is known yet, it may join when it starts; "
                     "the chain has 1 of 3 nodes: n3\n")
    for wrong in ("", "a b", "n" * 49):
      for change in ("add", "remove", "drain"):
        self.kamino("admin", change, wrong, managers, expect=2,
                    stderr=f'NODE must be 1 to 48 letters, digits or -_., not '
                           f'"{wrong}"')
    self.kamino("admin", "add", "n2", managers, "--timeout=30s")
    self.cluster.await_chain(["n3", "n2"])

  def test_help_and_version(self):
    kamino = self.cluster.binary("kamino")
    for words, text in ((("--help",), "Exit codes"),
                        (("help",), "Writes a whole object"),
                        (("help", "put"), "date | kamino put now"),
                        (("help", "put"), "Usage: kamino put"),
                        (("help", "admin", "remove"), "--force"),
                        (("help", "admin", "remove"), "--timeout: the default"),
                        (("help", "admin", "drain"),
                         "Takes a node out of the chain once another"),
                        (("help", "commit"), "[OPTIONS] [if CONDITION]... "
                                             "[then] OPERATION..."),
                        (("commit", "--help"), "Usage: kamino commit [OPT"),
                        (("help", "put"), "The object's name"),
                        (("help", "load", "tsv"), "Usage: kamino load [OPT"),
                        (("help", "patch"), "First byte to overwrite"),
                        (("put", "--help"), "Examples"),
                        (("--version",), "kamino 0.")):
      done = self.run_program(kamino, *words)
      self.assertEqual(done.returncode, 0, done.stderr)
      self.assertIn(text, done.stdout)
    self.assertEqual(self.run_program(kamino, "help", "nope").returncode, 2)
    self.assertEqual(self.run_program(kamino).returncode, 2)
    for name, flag in (("kamino_node", "--data_dir"),
                       ("kamino_manager", "--chain_length")):
      server = self.cluster.binary(name)
      self.assertIn(flag, self.run_program(server, "--help").stdout)
      for word in ("--version", "-version"):
        done = self.run_program(server, word)
        self.assertEqual((done.returncode, done.stdout.split()[0]), (0, name))
      self.assertEqual(self.run_program(server, "-help").returncode, 0)
      for words in (("--helpx",), ("--bogus", "--helpx"), ("--versions",)):
        done = self.run_program(server, *words)
        self.assertEqual(done.returncode, 2, (words, done.stderr))
        self.assertIn(f"{name}: there is no flag {words[0]}", done.stderr)
      done = self.run_program(server)
      self.assertEqual(done.returncode, 2, done.stderr)
      self.assertIn("--cluster_id is required, 1 to 48 letters, digits or -_. "
                    "(--help lists all flags)", done.stderr)

  # Command lines, and what a TAB completes; None: files' names.
  COMPLETIONS = (("kamino admin dr", "drain"),
                 ("kamino get --he", "--help --hex"),
                 ("kamino load t", "tsv"),
                 ("kamino load tsv fi", None),
                 ("kamino completion z", "zsh"),
                 ("kamino help admin rem", "remove"),
                 ("kamino --timeout 5s get --output j", "json"),
                 ("kamino get --output=r", "raw"),
                 ("kamino get --key_encoding=h", "hex"),
                 ("kamino --config fi", None),
                 ("kamino --config=fi", None),
                 ("kamino --cluster get pu", "put"),
                 ("kamino load --outstanding fi", None),
                 ("kamino load --outstanding 5 t", "tsv"),
                 ("kamino get key -o fi", None),
                 ("kamino get --output raw --ra", "--raw"))

  def test_completion_in_bash(self):
    kamino = self.cluster.binary("kamino")
    script = [self.run_program(kamino, "completion", "bash").stdout]
    for line, _ in self.COMPLETIONS:
      words = line.replace("=", " = ").split()  # as bash takes them apart
      script.append(f"COMP_WORDS=({' '.join(words)})")
      script.append(f"COMP_CWORD={len(words) - 1}; _kamino")
      script.append('echo "${COMPREPLY[@]}"')
    done = self.run_program("bash", "-c", "\n".join(script))
    self.assertEqual(done.stdout.splitlines(),
                     [answer or "" for _, answer in self.COMPLETIONS],
                     done.stderr)

  def test_completion_in_zsh(self):
    if shutil.which("zsh") is None:
      print("\nNOT RUN: zsh is not installed", flush=True)
      return
    folder = os.path.join(self.folder, "zsh")
    os.mkdir(folder)
    self.path("zsh/file")
    kamino = self.cluster.binary("kamino")
    script = self.run_program(kamino, "completion", "zsh").stdout
    with open(os.path.join(folder, "_kamino"), "w", encoding="utf-8") as f:
      f.write(script)
    setups = ("fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -D",
              "autoload -Uz compinit; compinit -u -D; . ./_kamino")
    for setup in setups:  # both ways that docs/use/cli.md names
      for line, answer in self.COMPLETIONS:
        words = line.replace("=", " ").split()
        with Zsh(folder, setup) as zsh:
          completed = zsh.complete(line)
        if " " in (answer or ""):  # as far as they are alike
          answer = os.path.commonprefix(answer.split())
        self.assertEqual(completed.rstrip(),
                         line[:-len(words[-1])] + (answer or "file"), setup)


class UnknownOutcomeTest(ClusterTest):
  # The member that stands still is one until the client has given up.
  start = {"nodes": 3, "heap_mb": 16, "ring_mb": 16,
           "failure_timeout_ms": 30000}

  def test_an_unknown_outcome_names_the_outcome_command(self):
    # The head takes it, and hears no more of it.
    middle = self.cluster.chain()[0][1]
    self.cluster.kill(middle, signal.SIGSTOP)
    done = self.cluster.kamino("put", "a", "b", f"--timeout={patience(3):g}s",
                               check=False)
    self.assertEqual(done.returncode, 3, done.stderr)
    told = re.search(r"kamino (outcome \d+ \d+ \d+)", done.stderr)
    self.assertIsNotNone(told, done.stderr)
    self.cluster.kill(middle, signal.SIGCONT)
    answer = self.kamino(*told.group(1).split(), "--timeout=30s")
    self.assertIn("committed", answer)


if __name__ == "__main__":
  main()
