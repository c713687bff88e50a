"""The configuration file of the real programs: what `kamino config example`
prints is all of it, is taken by each, and what is wrong in it is found by
--check_config, as at a start."""

import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "deploy", "local"))
# pylint: disable=wrong-import-position
from binaries import Binaries
from processes import free_port, wait_until

SERVERS = ("node", "manager")
# Flags that name the configuration cannot be in it.
ABOUT_CONFIG = {"config", "check_config", "check_config_file",
                "config_example"}

WRONG_ADDRESSES = (
    ("fd00:77::1:7001",
     "an IPv6 address needs brackets: [fd00:77::1]:7001"),
    ("::1", "an IPv6 address needs brackets and a port: [::1]:PORT"),
    ("[fd00:77::1]", "the port is missing"),
    ("http://10.0.0.1:7001", "leave out the scheme and its ://"),
    ("10.0.0.1:65536", 'the port "65536" is no number from 0 to 65535'),
    ("10.0.0.1", "the port is missing"),
    (":7001", "the host is missing"),
    ("10.0.0.1 :7001", "there is white space in it"),
    ("0x0:7001", "a resolver takes it for 0.0.0.0"))


class ProgramsTest(unittest.TestCase):

  def setUp(self):
    self.folder = tempfile.mkdtemp(prefix="kamino-test-")
    self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
    self.binaries = Binaries()

  def path(self, name):
    return os.path.join(self.folder, name)

  def write(self, text, name="kamino.toml"):
    with open(self.path(name), "w", encoding="utf-8") as f:
      f.write(text)
    return self.path(name)

  def run_program(self, name, *words, path=None, more=None):
    environment = dict(os.environ, PATH=path or os.environ["PATH"],
                       **(more or {}))
    return subprocess.run(
        (self.binaries.path(name),) + words, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, check=False,
        env=environment)

  def check_file(self, text, *words):
    """`kamino config check`, where the servers are installed."""
    servers = os.pathsep.join(os.path.dirname(self.binaries.path(name))
                              for name in ("kamino_node", "kamino_manager"))
    return self.run_program("kamino", "config", "check", self.write(text),
                            *words, path=servers)

  def check_config(self, server, text, *words):
    return self.run_program(f"kamino_{server}", "--check_config",
                            f"--config={self.write(text)}", *words)

  def example(self, *of):
    done = self.run_program("kamino", "config", "example", *of)
    self.assertEqual(done.returncode, 0, done.stderr)
    return done.stdout

  def flags(self, server):
    """Name: help, of those that --help shows."""
    text = self.run_program(f"kamino_{server}", "--help").stdout
    found = dict(re.findall(r"^    --(\w+) \((.*?)\);\s+default: ", text,
                            re.MULTILINE | re.DOTALL))
    names = set(re.findall(r"^    --(\w+) ", text, re.MULTILINE))
    self.assertEqual(set(found), names)
    return {k: v for k, v in found.items() if k not in ABOUT_CONFIG}

  def test_unwritable_output_is_an_error(self):
    for program, words in itertools.product(
        ("kamino_node", "kamino_manager", "kamino_check"),
        (("--help",), ("--version",), ("--config_example",))):
      if program == "kamino_check" and words == ("--config_example",):
        continue
      with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [self.binaries.path(program), *words], stdout=full,
            stderr=subprocess.PIPE, text=True, check=False)
      self.assertNotEqual(done.returncode, 0, (program, words))
      name = program.replace("kamino_check", "kamino check")
      # The program does not know why an earlier part of a long output failed.
      self.assertRegex(
          done.stderr, rf"^{name}: cannot write to standard output(: No space "
                       r"left on device)?\n", (program, words))

  def test_the_example_is_valid_for_all_programs(self):
    text = self.example()
    for server in SERVERS:
      done = self.check_config(server, text)
      self.assertEqual(done.returncode, 0, done.stderr)
      self.assertEqual(
          done.stdout, f"kamino_{server}: the configuration is right\n")
      self.assertEqual(done.stderr, "")
    done = self.run_program("kamino", "config", "check", self.write(text))
    self.assertEqual(done.returncode, 0, done.stderr)

  def test_the_example_has_every_flag_with_help(self):
    for server in SERVERS:
      text = self.example(server)
      flags = self.flags(server)
      self.assertGreater(len(flags), 8)
      for name, help_text in flags.items():
        self.assertGreater(len(help_text.split()), 2, f"--{name} has no help")
        self.assertRegex(text, rf"(?m)^#?{name} = ")
      # A setting that is commented out has the default, so it can be set as
      # well.
      all_of_it = re.sub(r"(?m)^#(\w+ = )", r"\1", text)
      done = self.check_config(server, all_of_it)
      self.assertEqual(done.returncode, 0, done.stderr)

  def test_the_clients_example_names_a_cluster(self):
    path = self.write(self.example("client"))
    done = self.run_program("kamino", "get", "a", f"--config={path}",
                            "--cluster=office")
    self.assertEqual(done.returncode, 2)
    self.assertIn("no cluster office; it has home", done.stderr)
    for option in ("timeout", "carrier"):
      self.assertIn(f"\n#{option} = ", self.example("client"))

  def test_flag_errors_read_like_other_setting_errors(self):
    other_source = (" is not for this program; set flags on the command line, "
                    "or in a file that --config names")
    for words, said in (
        (("--hep_mb=16",), "there is no flag --hep_mb (did you mean "
         "--heap_mb?); --help lists all flags"),
        (("--heap_mb=x",), '--heap_mb cannot be "x": it takes a whole number '
         "of 0 or more"),
        (("--heap_mb",), "--heap_mb needs a value"),
        (("--insecure=maybe",), '--insecure cannot be "maybe": it takes true '
         "or false"),
        (("--noinsecure=1",), "--noinsecure=1 is no form of --insecure"),
        (("--noheap_mb",), "--noheap_mb is no form of --heap_mb"),
        (("-noinsecure", "--heap_mb", "-1"), '--heap_mb cannot be "-1": it '
         "takes a whole number of 0 or more"),
        # Flags of Abseil for other sources of settings.
        (("--flagfile=x",), "--flagfile" + other_source),
        (("--fromenv=listen",), "--fromenv" + other_source),
        (("--tryfromenv", "listen"), "--tryfromenv" + other_source),
        (("--undefok=zzz", "--zzz=1"), "--undefok" + other_source),
        # The first one.
        (("--foo_bar_baz=1", "--heap_mb=x"), "there is no flag --foo_bar_baz; "
         "--help lists all flags")):
      done = self.run_program("kamino_node", *words)
      self.assertEqual((done.returncode, done.stdout), (2, ""), words)
      self.assertEqual(done.stderr, f"kamino_node: {said}\n")
    done = self.run_program("kamino_manager", "--foo_bar_baz")
    self.assertEqual(done.returncode, 2)
    self.assertEqual(done.stderr, "kamino_manager: there is no flag "
                     "--foo_bar_baz; --help lists all flags\n")

  def test_errors_are_found_without_a_start(self):
    example = self.example("node")
    line = example[:example.index("listen = ")].count("\n") + 1
    for text, words, said in (
        (example.replace("cluster_id = ", "clustr_id = "), (),
         "kamino_node has no setting clustr_id (did you mean cluster_id?)"),
        (example.replace('listen = "127.0.0.1:7001"', "listen = 7001"), (),
         f"kamino.toml:{line}: listen must be a text in quotes"),
        # The checks of a start find this one, as the file's format does not.
        (example.replace('listen = "127.0.0.1:7001"', 'listen = "here"'), (),
         f"kamino.toml:{line}: --listen must be host:port"),
        (example.replace("data_dir = ", "#data_dir = "), (),
         "--data_dir is required"),
        (example, ("--heap_mb=1",), "kamino_node: --heap_mb must be from"),
        (example, ("--alpha=2",),
         "--alpha must be over 0 and at most 1, not 2"),
        (example.replace('listen = "127.0.0.1:7001"',
                         'listen = "0.0.0.0:7001"'), (),
         "--advertise is required when --listen is every address; name the "
         "host that clients connect to, as in --advertise=10.0.0.1:7001"),
        (example.replace("cluster_id = ", "#cluster_id = "), (),
         "--cluster_id is required, 1 to 48 letters, digits or -_. (--help "
         "lists all flags)"),
        (example, ("--node_id=a/b",), "--node_id must be 1 to 48 letters, "
         'digits or -_., not "a/b"')):
      done = self.check_config("node", text, *words)
      self.assertEqual(done.returncode, 2, text)
      self.assertEqual(done.stdout, "")
      self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
      self.assertIn(said, done.stderr)
    self.assertFalse(os.path.exists("/var/lib/kamino/n1"))
    done = self.check_config("node", example.replace("cluster_id = \"c\"",
                                                     "cluster_id = \"\""),
                             "--cluster_id=typed")
    self.assertEqual(done.returncode, 0, done.stderr)

  def test_every_address_is_read_by_the_same_rules(self):
    """A wrong one is exit code 2 and names the flag and the remedy."""
    one = {"node": ("listen", "advertise", "peer_listen", "link_listen",
                    "link_advertise", "session_listen", "web_listen"),
           "manager": ("listen", "advertise", "admin_listen", "web_listen")}
    several = {"node": ("managers",), "manager": ("etcd",)}
    for server in SERVERS:
      for flag in one[server] + several[server]:
        for text, said in WRONG_ADDRESSES:
          self.check_address(server, flag, text, said)
      for flag in several[server]:
        for text, said in WRONG_ADDRESSES:
          self.check_address(server, flag, "127.0.0.1:1," + text, said)
    done = self.check_config(
        "node", self.example("node"), "--listen=[::1]:7001",
        "--managers=[::1]:7000,[fd00:77::1]:7000", "--link_listen=[::1]:7002",
        "--insecure")
    self.assertEqual(done.returncode, 0, done.stderr)

  def check_address(self, server, flag, text, said):
    with self.subTest(server=server, flag=flag, text=text):
      done = self.check_config(server, self.example(server), "--insecure",
                               f"--{flag}={text}")
      self.assertEqual((done.returncode, done.stdout), (2, ""))
      self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
      self.assertIn(f"--{flag} ", done.stderr)
      self.assertIn(said, done.stderr)

  def test_the_client_reads_addresses_by_the_same_rules(self):
    for text, said in WRONG_ADDRESSES:
      listed = "127.0.0.1:1, " + text
      for flag, words in (("seeds", ("get", "a")),
                          ("managers", ("admin", "status"))):
        variable = "KAMINO_" + flag.upper()
        path = self.write(f'current = "a"\n[clusters.a]\n'
                          f'{flag} = ["127.0.0.1:1", "{text}"]\n')
        for named, done in (
            (f"--{flag}", self.run_program("kamino", f"--{flag}={listed}",
                                           *words)),
            (variable, self.run_program("kamino", *words,
                                        more={variable: listed})),
            (f"{path}:3: {flag}", self.run_program(
                "kamino", f"--config={path}", *words))):
          with self.subTest(named=named, text=text):
            self.assertEqual((done.returncode, done.stdout), (2, ""),
                             done.stderr)
            self.assertIn(named, done.stderr)
            self.assertIn(said, done.stderr)

  def test_a_node_listens_on_its_own_machine_alone_in_the_clear(self):
    flags = [f"--{flag}=10.0.0.1:{port}" for port, flag in enumerate((
        "listen", "peer_listen", "link_listen", "session_listen", "web_listen",
        "managers"), 1)]
    for flag in flags:
      # Links over tcp would have to be reached, too.
      done = self.check_config("node", self.example("node"), flag,
                               "--transport=shm")
      self.assertEqual(done.returncode, 2, (flag, done.stderr))
      self.assertIn(f"{flag.replace('=', ': ')} is not a loopback address",
                    done.stderr)
    done = self.check_config("node", self.example("node"), "--insecure",
                             "--transport=shm", *flags)
    self.assertEqual(done.returncode, 0, done.stderr)

  def check_node(self, code, said, *words):
    with self.subTest(words=[each[:60] for each in words]):
      done = self.check_config("node", self.example("node"), "--insecure",
                               *words)
      self.assertEqual((done.returncode, done.stdout if code else ""),
                       (code, ""), done.stderr)
      self.assertIn(said, done.stderr)

  def test_a_wildcard_address_cannot_be_advertised(self):
    for host in ("0.0.0.0", "[::]", "[::ffff:0.0.0.0]"):
      self.check_node(2, "--advertise is required", f"--listen={host}:7001")
      self.check_node(2, f"--advertise is {host}:7001, which is every address",
                      f"--advertise={host}:7001")
      for flag in ("link_listen", "link_advertise"):
        self.check_node(2, f"--{flag} is {host}:7002, which is every address",
                        f"--{flag}={host}:7002")

  def test_each_listener_has_a_port_of_its_own(self):
    flags = ("listen", "link_listen", "session_listen", "peer_listen",
             "web_listen")
    for first, second in itertools.combinations(flags, 2):
      self.check_node(2, "127.0.0.1:7009, which --",
                      f"--{first}=127.0.0.1:7009",
                      f"--{second}=127.0.0.1:7009")
    self.check_node(0, "", *(f"--{flag}=127.0.0.1:{port}"
                             for port, flag in enumerate(flags, 7001)))
    self.check_node(0, "", *(f"--{flag}=127.0.0.1:0" for flag in flags))
    self.check_node(0, "", "--listen=127.0.0.1:7009",
                    "--link_listen=127.0.0.2:7009")
    words = ("kamino_manager", "--cluster_id=c", "--listen=127.0.0.1:7000",
             "--etcd=127.0.0.1:1", "--check_config")
    for flag in ("web_listen", "admin_listen"):
      done = self.run_program(*words, f"--{flag}=127.0.0.1:7000")
      self.assertEqual(done.returncode, 2, done.stderr)
      self.assertIn(f"--{flag} is 127.0.0.1:7000, which --listen listens on",
                    done.stderr)

  def test_the_data_folders_path_is_checked(self):
    for length, code in ((255, 0), (256, 2)):
      self.check_node(code, "has a name of 256 bytes" if code else "",
                      f"--data_dir=/tmp/{'d' * length}/n1")
    for names, code in ((2047, 0), (2048, 2)):
      self.check_node(code, "is a path of 4096 bytes" if code else "",
                      f"--data_dir={'/d' * names}")

  def test_plaintext_to_etcd_is_refused(self):
    """Except on this machine, or with --insecure."""
    pair = ("--tls_cert=a", "--tls_key=b", "--tls_ca=c", "--admin_listen=h:1")
    for words, said in (
        (("--etcd=10.0.0.1:1",), "give --etcd_tls_ca (and --etcd_tls_cert and "
         "--etcd_tls_key, if etcd requires a certificate), or say --insecure"),
        (("--etcd=127.0.0.1:1,10.0.0.1:1",), "--etcd: 10.0.0.1:1 is not a"),
        (("--etcd=10.0.0.1:1", "--insecure"), None),
        (("--etcd=10.0.0.1:1", *pair), "--etcd: 10.0.0.1:1 is not a"),
        (("--etcd=10.0.0.1:1", *pair, "--etcd_tls_ca=x"), "cannot be read"),
        (("--etcd=127.0.0.1:1", *pair), "cannot be read"),
        (("--etcd=127.0.0.1:1", "--etcd_tls_cert=x", "--etcd_tls_key=y"),
         "--etcd_tls_ca is missing"),
        (("--etcd=127.0.0.1:1", "--etcd_tls_ca=x", "--etcd_tls_key=y"),
         "--etcd_tls_cert and --etcd_tls_key go together"),
        (("--etcd=127.0.0.1:1", "--etcd_user=k"),
         "--etcd_user and --etcd_password_file go together"),
        (("--etcd=127.0.0.1:1", "--web_listen=0.0.0.0:1"),
         "--web_listen: 0.0.0.0:1 is not a loopback address"),
        (("--etcd=127.0.0.1:1", "--admin_port_of_all=70000"),
         "--admin_port_of_all must be from 0 to 65535")):
      done = self.run_program(
          "kamino_manager", "--cluster_id=c", "--listen=127.0.0.1:7000",
          "--check_config", *words)
      self.assertEqual(done.returncode, 0 if said is None else 2,
                       (words, done.stderr))
      self.assertIn(said or "", done.stderr)

  def test_named_files_are_checked(self):
    roles = self.write("[[grant]]\nidentity = 5\n", "roles.toml")
    for server in SERVERS:
      for word, said in (
          (f"--roles={roles}", "--roles needs --tls_cert"),
          ("--tls_cert=/no/such", "--tls_key"),
          ("--tls_cert=/no/such --tls_key=/no/such --tls_ca=/no/such "
           "--admin_listen=127.0.0.1:7002", "/no/such cannot be read")):
        words = [each for each in word.split()
                 if server == "manager" or "admin_listen" not in each]
        done = self.check_config(server, self.example(server), *words)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn(said, done.stderr)

  def test_a_file_is_checked_with_its_values(self):
    done = self.check_file(self.example())
    self.assertEqual((done.returncode, done.stderr), (0, ""))
    path = self.path("kamino.toml")
    self.assertEqual(done.stdout.splitlines(), [
        f"{path} is valid: all names, and the values for kamino",
        "kamino_manager: values are right",
        "kamino_node: values are right",
        "not checked: files that it names, and flags of command lines; to "
        "check these, run as the services' users, with their other flags:",
        f"  kamino_manager --config={path} --check_config",
        f"  kamino_node --config={path} --check_config"])
    for text, said in (
        ("[node]\nheap_mb = 0\n", ":2: --heap_mb must be from 8 to"),
        ('[node]\nheap_mb = "2"\n', ":2: heap_mb must be a whole number"),
        ('[node]\nlisten = "here"\n', ":2: --listen must be host:port"),
        ('[node]\nundo_copy = "log"\n', ":2: --undo_copy log is for"),
        ('[node]\nmanagers = "10.0.0.1:1"\ntls_cert = "/c"\n'
         'insecure = true\n', ":4: --insecure"),
        ("[manager]\nchain_length = 99\n", ":2: --chain_length must be"),
        ('[manager]\naway_limit = "long"\n', ":2: away_limit cannot be long: "
         "it takes a duration such as 500ms or 5m"),
        ('log_level = "loud"\n[manager]\n', ":1: --log_level must be"),
        # Above all sections stands what each of them knows.
        ("heap_mb = 64\n[manager]\n", "kamino_manager has no setting heap_mb"),
        ("heap_mb = 0\n", ":1: --heap_mb must be from 8 to")):
      done = self.check_file(text)
      self.assertEqual((done.returncode, done.stdout), (2, ""), text)
      self.assertIn(said, done.stderr)
      self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

  def test_settings_that_a_file_leaves_out_are_named(self):
    """The services of the packages use such files."""
    done = self.check_file("""
cluster_id = "shop"
tls_ca = "/no/such/ca.pem"
[manager]
listen = "127.0.0.1:7000"
etcd = "127.0.0.1:2379"
[node]
managers = "10.0.0.1:7000"
""")
    self.assertEqual((done.returncode, done.stderr), (0, ""))
    self.assertIn("kamino_manager: values are right; its command line must "
                  "give --admin_listen, --tls_cert, --tls_key\n", done.stdout)
    self.assertIn("kamino_node: values are right; its command line must give "
                  "--data_dir, --listen, --node_id, --tls_cert, --tls_key\n",
                  done.stdout)

  def test_the_example_of_the_docs_is_valid(self):
    with open("docs/operate/configuration.md", encoding="utf-8") as f:
      example = f.read().split("```toml\n")[1].split("```")[0]
    done = self.check_file(example)
    self.assertEqual((done.returncode, done.stderr), (0, ""))
    for program in ("kamino_manager", "kamino_node"):
      self.assertIn(f"{program}: values are right", done.stdout)

  def test_required_settings_may_be_on_the_command_line(self):
    for text, told in (
        ('[manager]\nlisten = "10.0.0.1:7000"\n', "--insecure"),
        ('[node]\nmanagers = "10.0.0.1:1"\n', "--insecure"),
        ('[node]\nlisten = "0.0.0.0:7001"\n', "--advertise"),
        ('[node]\nlisten = "10.0.0.1:7001"\ninsecure = true\n',
         "--link_listen")):
      done = self.check_file(text)
      self.assertEqual((done.returncode, done.stderr), (0, ""), text)
      self.assertIn(told, done.stdout)
    # A value that is wrong is, whatever else is missing.
    done = self.check_file(
        '[node]\nlisten = "10.0.0.1:7001"\nheap_mb = 0\n')
    self.assertEqual(done.returncode, 2)
    self.assertIn("heap_mb", done.stderr)

  def test_config_check_prints_json(self):
    text = "[node]\nheap_mb = 16\n"
    path = self.write(text)
    done = self.run_program("kamino", "config", "check", path, "--json",
                            path="/no/such")
    self.assertEqual((done.returncode, done.stderr), (0, ""))
    self.assertEqual(json.loads(done.stdout), {"file": path, "servers": [{
        "program": "kamino_node", "checked": False, "said": "",
        "rest": f"kamino_node --config={path} --check_config"}]})
    done = self.check_file(text, "--json")
    [server] = json.loads(done.stdout)["servers"]
    self.assertTrue(server["checked"])
    self.assertIn("values are right", server["said"])

  def test_without_servers_unchecked_values_are_named(self):
    path = self.write("[node]\nheap_mb = 0\n")
    done = self.run_program("kamino", "config", "check", path,
                            path="/no/such")
    self.assertEqual((done.returncode, done.stderr), (0, ""))
    self.assertIn("kamino_node: values were not checked, as the program is not "
                  "installed; on a machine that has it, run: kamino_node "
                  f"--config={path} --check_config_file\n", done.stdout)
    # A file for the command line alone is checked as a whole.
    path = self.write(self.example("client"))
    done = self.run_program("kamino", "config", "check", path)
    self.assertEqual(done.stdout, f"{path} is valid: all names, and the values "
                     "for kamino\n")

  def test_missing_certificate_settings_are_named(self):
    text = 'tls_ca = "/no/such"\n'
    for server in SERVERS:
      done = self.check_config(server, text + self.example(server))
      self.assertEqual(done.returncode, 2)
      self.assertIn(
          "kamino.toml:1: --tls_ca is given, but --tls_cert and --tls_key are "
          "missing, and they go together: give --tls_cert=FILE and "
          "--tls_key=FILE, or set tls_cert and tls_key in the configuration "
          "file", done.stderr)

  def test_an_error_is_one_printable_line(self):
    done = self.check_config("node", '[node]\n"\\u001b[31mx\\ny" = 1\n')
    self.assertEqual(done.returncode, 2)
    self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
    self.assertIn(r"no setting \x1b[31mx\ny", done.stderr)

  def test_help_needs_no_file(self):
    done = self.run_program("kamino_node", "--config=/no/such", "--help")
    self.assertEqual(done.returncode, 0)
    done = self.run_program("kamino_node", "--config=/no/such")
    self.assertEqual(done.returncode, 2)
    self.assertIn("/no/such: the configuration file cannot be read: No such",
                  done.stderr)

  def test_sighup_names_settings_that_need_a_restart(self):
    def config(length, level="info"):
      return self.write(f"""
log_format = "json"
log_level = "{level}"
[manager]
cluster_id = "c"
listen = "127.0.0.1:{self.port}"
etcd = ["127.0.0.1:{self.port}"]
chain_length = {length}
""")
    self.port = free_port()
    log = self.path("log")

    def lines():
      with open(log, encoding="utf-8") as f:
        return f.read()
    with open(log, "wb") as out:
      manager = subprocess.Popen(  # pylint: disable=consider-using-with
          [self.binaries.path("kamino_manager"), f"--config={config(3)}"],
          stderr=out)
    self.addCleanup(manager.wait)
    self.addCleanup(manager.kill)
    wait_until(lambda: "manager of cluster c listens" in lines(), 10,
               "the manager to listen")
    for length, said in (
        (2, f"SIGHUP: --chain_length has changed in {self.path('kamino.toml')}"
            "; restart this process to apply"),
        ('"two"', ":8: chain_length must be a whole number, not a text"),
        (99, ":8: --chain_length must be from 1 to 16, not 99")):
      config(length)
      manager.send_signal(signal.SIGHUP)
      wait_until(lambda said=said: said in lines(), 10, said)
    config(3, level="debug")
    manager.send_signal(signal.SIGHUP)
    wait_until(lambda: "changed: --log_level" in lines(), 10, "another level")
    manager.terminate()
    self.assertEqual(manager.wait(), 0)
    said = [json.loads(line) for line in lines().splitlines()]
    self.assertEqual(said[-1]["message"],
                     "kamino_manager has ended after signal TERM")
    self.assertEqual({(line["program"], line["cluster"]) for line in said},
                     {("kamino_manager", "c")})


if __name__ == "__main__":
  unittest.main()
