"""The command line's files and keys: files that cannot be written, keys of any
bytes, files of other systems."""

import os
import resource
import shutil
import signal
import subprocess

from harness import ClusterTest, main, wait_until

LIMIT = 64  # bytes; less than anything that is written below


class CliFilesTest(ClusterTest):
  start = {"nodes": 1, "heap_mb": 16, "ring_mb": 16}

  def setUp(self):
    super().setUp()
    self.work = os.path.join(self.folder, "work")
    os.mkdir(self.work)

  def path(self, name, content=None):
    path = os.path.join(self.work, name)
    if content is not None:
      with open(path, "wb") as f:
        f.write(content)
    return path

  def run_kamino(self, *words, seeds=True, **options):
    command = [self.cluster.binary("kamino"), *words]
    if seeds:
      command.append(f"--seeds={self.cluster.seeds}")
    options = {"stdout": subprocess.PIPE, "stdin": subprocess.DEVNULL,
               **options}
    if "input" in options:
      del options["stdin"]
    return subprocess.run(command, stderr=subprocess.PIPE, timeout=60,
                          check=False, **options)

  def limited(self, *words, **options):
    """Limits file sizes like ulimit -f, with signals as a shell leaves them."""
    def limit():
      resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))
    return self.run_kamino(*words, preexec_fn=limit, **options)

  # --- Files that cannot be written.

  def test_a_file_size_limit_is_an_error_that_leaves_no_file(self):
    self.open_bank()
    self.kamino("put", "a", "v" * 1000)
    ca = os.path.join(self.folder, "ca")
    self.kamino("cert", "ca", "--cluster_id=c", f"--dir={ca}")
    self.kamino("cert", "issue", "writer", "w", f"--dir={ca}")
    issued = os.listdir(os.path.join(ca, "issued"))
    with open(os.path.join(ca, "ca.pem"), "rb") as f:
      self.path("ca.pem", f.read())  # issue has nothing else to write first
    before = self.path("before", b"as it was")
    there = sorted(os.listdir(self.work))
    managers = "--managers=" + self.cluster.operators_addresses[0]
    for words, file in (
        (("backup", "save", self.path("b.kmb")), self.path("b.kmb")),
        (("backup", "save", "--force", before), before),
        (("debug", "dump", self.path("d.gz"), managers), self.path("d.gz")),
        (("cert", "issue", "reader", "r", f"--dir={ca}", f"--out={self.work}"),
         self.path("reader-r.key")),
        (("cert", "revoke", os.path.join(ca, "writer-w.pem"),
          f"--dir={ca}"), os.path.join(ca, "crl/ca.crl")),
        (("get", "a", "-o", self.path("v")), self.path("v")),
        (("get", "a", "-o", before), before)):
      done = self.limited(*words)
      self.assertEqual(done.returncode, 1, (words, done.stderr))
      self.assertEqual(
          done.stderr.decode().splitlines()[-1],
          f"kamino: cannot write {file}: File too large (this process may "
          f"write up to {LIMIT} bytes to a file: ulimit -f)")
      self.assertEqual(sorted(os.listdir(self.work)), there, words)
    with open(before, "rb") as f:
      self.assertEqual(f.read(), b"as it was")
    self.assertEqual(os.listdir(os.path.join(ca, "issued")), issued)
    self.assertEqual(os.listdir(os.path.join(ca, "crl")), [])
    log = self.path("acked")
    done = self.limited("bench", "transfer", "--count=20", "--accounts=50",
                        f"--acked_log={log}")
    self.assertEqual(done.returncode, 1, done.stderr)
    self.assertIn(f"cannot write {log}: File too large (", done.stderr.decode())

  def test_errors_on_standard_output_have_the_reason(self):
    self.kamino("put", "a", "v" * 1000)
    for words in (("get", "a"), ("scan",), ("config", "example"), ("--help",),
                  ("completion", "bash"), ("backup", "save", "-")):
      with open(self.path("out"), "wb") as out:
        done = self.limited(*words, stdout=out)
      self.assertEqual(done.returncode, 1, (words, done.stderr))
      self.assertIn(b"kamino: cannot write", done.stderr)
      self.assertIn(b"standard output: File too large (", done.stderr)
      with open("/dev/full", "wb") as full:
        done = self.run_kamino(*words, stdout=full)
      self.assertEqual(done.returncode, 1, (words, done.stderr))
      self.assertIn(b"standard output: No space left on device", done.stderr)
      reads, writes = os.pipe()
      os.close(reads)
      done = self.run_kamino(*words, stdout=writes)
      os.close(writes)
      self.assertEqual(done.returncode, 1, (words, done.stderr))
      self.assertIn(b"standard output: Broken pipe", done.stderr)
    self.kamino("get", "a", "-o", "/dev/full", expect=1,
                stderr="cannot write /dev/full: No space left on device")

  def test_a_folder_is_refused_as_a_file(self):
    there = self.path("there.gz", b"as it was")
    for words in (("backup", "save"), ("backup", "save", "--force"),
                  ("debug", "dump")):
      self.kamino(*words, self.work, expect=2,
                  stderr=f"cannot make {self.work}: it is a directory; name a "
                         "file")
    self.kamino("debug", "dump", there, expect=1,
                stderr=f"{there} is there already; name another file (kamino "
                       "debug dump FILE), or remove this one")

  def test_a_full_disk_leaves_no_file(self):
    self.kamino("put", "a", "v" * 100000)
    disk = self.path("disk")
    os.mkdir(disk)
    alone = ["unshare", "--user", "--map-root-user", "--mount"]
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk]
    if (shutil.which("unshare") is None or
        self.run_program(*alone, *mount).returncode != 0):
      print("\nNOT RUN: no file system can be mounted here", flush=True)
      return
    seeds = f"--seeds={self.cluster.seeds}"
    kamino = self.cluster.binary("kamino")
    for words in (f"backup save {disk}/b", f"get a -o {disk}/v"):
      done = self.run_program(*alone, "sh", "-c",
                              f"{' '.join(mount)} && {kamino} {words} {seeds}; "
                              f"echo $?; ls -A {disk}")
      self.assertEqual(done.stdout, "1\n", done.stderr)
      self.assertRegex(done.stderr, f"kamino: cannot write {disk}/.: No space "
                                    "left on device\n")

  def test_a_signal_leaves_no_file(self):
    value = self.path("value", b"v" * (1 << 20))
    for key in "abcdef":
      self.kamino("put", key, f"--file={value}")
    os.remove(value)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
      # A MiB a second: it does not end before it is told to.
      with subprocess.Popen(
          [self.cluster.binary("kamino"), f"--seeds={self.cluster.seeds}",
           "backup", "save", "--rate=1", self.path("b.kmb")],
          stderr=subprocess.PIPE,
          preexec_fn=lambda: signal.signal(number, signal.SIG_DFL)) as saving:
        wait_until(lambda: os.listdir(self.work), 30, "the file")
        saving.send_signal(number)
        saving.wait(30)
      self.assertEqual(saving.returncode, -number)
      self.assertEqual(os.listdir(self.work), [])

  def test_a_value_replaces_a_file(self):
    self.kamino("put", "a", "new")
    there = self.path("there", b"old and longer")
    os.chmod(there, 0o640)
    link = self.path("link")
    os.symlink(there, link)
    for file in (self.path("fresh"), there, link):
      self.kamino("get", "a", "-o", file)
      with open(file, "rb") as f:
        self.assertEqual(f.read(), b"new")
    self.assertTrue(os.path.islink(link))
    self.assertEqual(os.stat(there).st_mode & 0o777, 0o640)
    mask = os.umask(0)
    os.umask(mask)
    self.assertEqual(os.stat(self.path("fresh")).st_mode & 0o777,
                     0o666 & ~mask)

  # --- Keys of any bytes.

  # a, NUL, tab, line feed, backslash, no UTF-8, UTF-8.
  KEY = b"a\x00\t\n\\\xff\xc3\xbc"
  WRITTEN = {"escaped": "a\\x00\\t\\n\\\\\\xff\u00fc",
             "hex": KEY.hex(),
             "base64": "YQAJClz/w7w="}

  def test_every_command_takes_keys_of_any_bytes(self):
    for encoding, key in self.WRITTEN.items():
      told = f"--key_encoding={encoding}"
      self.kamino("put", told, key, "value")
      self.assertEqual(self.kamino("get", told, key), "value\n")
      self.kamino("patch", told, key, "0", "V")
      for words in (("scan",), ("scan", "--prefix", key), ("scan", key)):
        self.assertEqual(self.kamino(*words, told), f"{key}\tValue\n")
      self.assertEqual(self.kamino("scan", told, key, key), "")
      self.assertEqual(
          self.kamino("commit", told, "if", "value", key, "Value", "then",
                      "get", key).splitlines()[0], f"{key}\tValue")
      self.kamino("commit", told, "if", "absent", key, expect=1,
                  stderr=f"conditions on these keys did not hold: {key} "
                  "[conflict]")
      lines = self.kamino("scan", told)
      self.kamino("del", told, key)
      self.assertEqual(self.kamino("scan"), "")
      loaded = self.run_kamino("load", "tsv", "-", told, input=lines.encode())
      self.assertEqual(loaded.returncode, 0, loaded.stderr)
      # As always: escaped where nothing is said, base64 as JSON.
      self.assertEqual(self.kamino("scan"),
                       f"{self.WRITTEN['escaped']}\tValue\n")
      self.assertIn(f'"key":"{self.WRITTEN["base64"]}"',
                    self.kamino("scan", told, "--json").replace(": ", ":"))
      self.assertEqual(self.kamino("scan", told, "--raw"), f"{key}\tValue\n")
      raw = self.run_kamino("scan", "--key_encoding=raw")
      self.assertEqual(raw.stdout, self.KEY + b"\tValue\n")
      self.kamino("commit", told, "del", key)
      self.kamino("get", told, key, expect=1, stderr="[key not found]")

  def test_words_are_raw_by_default(self):
    self.kamino("put", "a\\x00", "v")
    self.assertEqual(self.kamino("get", "a\\x00", "--key_encoding=raw"), "v\n")
    self.assertEqual(self.kamino("scan"), "a\\\\x00\tv\n")

  def test_an_undecodable_key_is_a_usage_error(self):
    for words in (("get", "6"), ("put", "6", "v"), ("patch", "6", "0", "v"),
                  ("del", "6"), ("scan", "6"), ("scan", "61", "6"),
                  ("scan", "--prefix=6"), ("commit", "get", "6")):
      self.kamino(*words, "--key_encoding=hex", expect=2,
                  stderr='kamino: "6" is no key with --key_encoding=hex: at '
                         "byte 0 (counted from 0): a byte has two digits")
    self.kamino("get", "a", "--key_encoding=octal", expect=2,
                stderr="octal is none of ")
    path = self.path("keys.tsv", b"61\tv\n6g\tv\n")
    self.kamino("load", "tsv", path, "--key_encoding=hex", expect=2,
                stderr=f'{path} line 2: "6g" is no key')

  def test_the_configuration_may_set_the_key_encoding(self):
    config = self.path("kamino.toml", (
        'current = "c"\n[clusters.c]\nseeds = ["'
        + self.cluster.seeds.replace(",", '", "')
        + '"]\nkey_encoding = "hex"\n').encode())
    told = f"--config={config}"
    self.assertEqual(
        self.run_kamino("put", "00", "v", told, seeds=False).returncode, 0)
    done = self.run_kamino("scan", told, seeds=False)
    self.assertEqual(done.stdout, b"00\tv\n")
    done = self.run_kamino("get", "x", told, seeds=False)
    self.assertEqual(done.returncode, 2, done.stderr)

  # --- Files of other systems.

  def load(self, text, *words, expect=0):
    done = self.run_kamino("load", "tsv", "-", *words, input=text)
    self.assertEqual(done.returncode, expect, done.stderr)
    return done.stderr.decode()

  def test_load_accepts_byte_order_marks_and_crlf(self):
    mark = b"\xef\xbb\xbf"
    for text in (mark + b"a\t1\nb\t2\\r\n", mark + b"a\t1\r\nb\t2\\r\r\n",
                 b"a\t1\r\nb\t2\\r", mark + b"a\t1\nb\t2\\r"):
      self.load(text)
      self.assertEqual(self.kamino("scan"), "a\t1\nb\t2\\r\n")
      self.kamino("commit", "del", "a", "del", "b")
    # scan prints what load reads as it was.
    self.kamino("put", "\ufeffkey", "\ufeffvalue\r")
    lines = self.kamino("scan")
    self.assertEqual(lines,
                     "\\xef\\xbb\\xbfkey\t\\xef\\xbb\\xbfvalue\\r\n")
    self.kamino("del", "\ufeffkey")
    self.load(lines.encode())
    self.assertEqual(self.kamino("scan"), lines)
    package = mark + b"Package: zsh\r\nVersion: 5\r\n\r\n"
    done = self.run_kamino("load", "dpkg", "-", input=package)
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertEqual(self.kamino("get", "zsh"), "Package: zsh\nVersion: 5\n\n")
    # A package's own text stays as it is.
    odd = b"Package: zsh\nDescription: a\rb\r\n"
    done = self.run_kamino("load", "dpkg", "-", input=odd)
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertEqual(self.kamino("get", "zsh", "--hex"), odd.hex() + "\n")

  def test_load_refuses_an_ambiguous_cr(self):
    for text, line, why in (
        (b"a\t1\r\nb\t2\n", 2, "it ends in LF, and line 1 in CR LF"),
        (b"a\t1\nb\t2\r\n", 2, "it ends in CR LF, and line 1 in LF"),
        (b"a\t1\nb\t2\r", 2, "it contains a CR that ends no line"),
        (b"a\t1\rb\t2\r", 1, "it contains a CR that ends no line"),
        (b"a\t1\r\r\n", 1, "it contains a CR that ends no line")):
      self.assertEqual(self.load(text, expect=2),
                       f"kamino: standard input line {line}: {why}; in tsv "
                       "a value's own CR is written as \\r\n")
    self.assertEqual(self.kamino("scan"), "")

  def test_a_configuration_may_be_a_pipe(self):
    config = self.path("kamino.toml", (
        'current = "c"\n[clusters.c]\nseeds = ["'
        + self.cluster.seeds.replace(",", '", "') + '"]\n').encode())
    kamino = self.cluster.binary("kamino")
    self.kamino("put", "a", "v")
    for words in (f"get a --config=<(cat {config})",
                  f"get a --config=/dev/fd/7 7< <(cat {config})",
                  f"get a --config=/dev/stdin < {config}"):
      done = self.run_program("bash", "-c", f"{kamino} {words}")
      self.assertEqual((done.returncode, done.stdout), (0, "v\n"), done.stderr)
    done = self.run_program("bash", "-c",
                            f"{kamino} get a --config=<(cat /dev/zero)")
    self.assertEqual(done.returncode, 2)
    self.assertIn("has over 1048576 bytes", done.stderr)
    done = self.run_program("bash", "-c",
                            f"{kamino} config check <(echo '[node]')")
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertIn("values for servers were not checked", done.stdout)

  def test_a_folder_as_the_default_configuration_is_an_error(self):
    default = self.path("home/.config/kamino/config.toml")
    os.makedirs(default)
    environment = {"PATH": os.environ["PATH"], "HOME": self.path("home")}
    done = self.run_kamino("status", seeds=False, env=environment)
    self.assertEqual(done.returncode, 2, done.stderr)
    self.assertEqual(done.stderr.decode(),
                     f"kamino: {default}: is a folder, not a configuration "
                     "file\n")


if __name__ == "__main__":
  main()
