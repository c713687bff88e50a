"""Backups of real processes: saved under load, damaged, restored."""

import base64
import json
import os
import re
import resource
import signal
import subprocess
import threading
from random import Random

from harness import (ENDLESS, ROOT, ClusterTest, Load, free_port, main,
                     patience, scaled, wait_until)
from local_cluster import LocalCluster

SMALL = {"nodes": 3, "heap_mb": 32, "ring_mb": 16}


class BackupTest(ClusterTest):
  start = SMALL

  def setUp(self):
    super().setUp()
    self.file = os.path.join(self.folder, "b.kmb")

  def other_cluster(self, name="other", **start):
    """An empty one beside it."""
    cluster = LocalCluster(os.path.join(self.folder, name), self.programs())
    self.addCleanup(cluster.destroy)
    cluster.start(**scaled({**SMALL, **start}))
    return cluster

  def save(self, *words, cluster=None, file=None):
    done = (cluster or self.cluster).kamino("backup", "save", "--json",
                                            file or self.file, *words,
                                            timeout=120)
    return json.loads(done.stdout)

  def hash_of(self, cluster):
    return json.loads(cluster.kamino("backup", "hash", "--json").stdout)

  def objects_of(self, cluster):
    """Keys to (value, version), as clients see them."""
    objects = {}
    for line in cluster.kamino("scan", "--json").stdout.splitlines():
      object_ = json.loads(line)
      objects[object_["key"]] = (object_.get("value"), object_["version"])
    return objects

  def run_kamino(self, cluster, *words, timeout=120):
    return cluster.kamino(*words, check=False, timeout=timeout)

  def run_limited(self, most, *words):
    """Runs kamino with files of `most` bytes at most, as on a full disk."""
    def limit():
      resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    return subprocess.run(
        [self.cluster.binary("kamino"), f"--seeds={self.cluster.seeds}",
         *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        timeout=patience(60), preexec_fn=limit, check=False)

  def logs_have(self, cluster, *texts):
    logs = "".join(cluster.log_tail(name, 10**6) for name in cluster.nodes)
    for text in texts:
      self.assertIn(text, logs)

  def fill(self, count=500, size=2000):
    lines = os.path.join(self.folder, "fill.tsv")
    with open(lines, "w", encoding="ascii") as f:
      for i in range(count):
        f.write(f"key{i:06d}\t{i}-{'x' * size}\n")
    self.kamino("load", "tsv", lines)


class DrillTest(BackupTest):

  def test_the_documented_drill(self):
    """Its lines need the packages' programs, and etcd."""
    self.fill(count=20)
    saved = self.save()
    page = os.path.join(ROOT, "docs", "operate", "backup.md")
    with open(page, encoding="utf-8") as f:
      drill = f.read().split("\n## Restore drill\n")[1]
    lines = "".join(re.findall(r"(?ms)^```\n(.*?)^```$", drill))
    for word, instead in (
        ("/backups/monday.kmb", self.file),
        ("/var/tmp/drill", os.path.join(self.folder, "drill")),
        *((port, str(free_port()))
          for port in ("12379", "12380", "17000", "17001"))):
      self.assertIn(word, lines)
      lines = lines.replace(word, instead)
    programs = [os.path.dirname(self.cluster.binary(name))
                for name in ("kamino", "kamino_manager", "kamino_node")]
    environment = dict(os.environ, PATH=os.pathsep.join(
        programs + [os.environ["PATH"]]), KAMINO_TLS_CA="/no/such")
    done = subprocess.run(["bash", "-m"], input=lines, env=environment,
                          cwd=self.folder, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True,
                          timeout=patience(120), check=False)
    self.assertEqual(done.returncode, 0, done.stdout)
    self.assertIn("restored: the cluster has all of it", done.stdout)
    self.assertIn(f"{saved['content_hash']} at ", done.stdout)
    self.assertRegex(done.stdout, r"(?m)^key000004\t4-x")
    self.assertFalse(os.path.exists(os.path.join(self.folder, "drill")))


class SaveTest(BackupTest):

  def test_a_save_under_load_is_consistent_and_restorable(self):
    self.open_bank()
    load = Load(self.cluster, count=ENDLESS)
    load.await_acked(500)
    acked = load.acked()
    saved = self.save("--rate=1")
    self.assertGreater(load.acked(), acked)  # it went on meanwhile
    self.cluster.kamino("backup", "verify", self.file)
    other = self.other_cluster()
    restored = json.loads(other.kamino("backup", "restore", "--json",
                                       self.file).stdout)
    self.assertEqual(restored["content_hash"], saved["content_hash"])
    self.assertEqual(self.hash_of(other)["content_hash"], saved["content_hash"])
    again = os.path.join(self.folder, "again.kmb")
    second = self.save(cluster=other, file=again)
    self.assertEqual(second["content_hash"], saved["content_hash"])
    self.assertNotEqual(second["cluster_uuid"], saved["cluster_uuid"])
    # The nodes' logs name the client that saved or restored everything.
    self.logs_have(self.cluster, "begins saving backup ",
                   "has finished saving backup ",
                   f": OK, mutation {saved['sequence']}, "
                   f"{saved['bytes']} bytes of records")
    self.logs_have(other, " began a restore of backup ",
                   " finished a restore of backup ", ": OK, mutation ",
                   f", {saved['bytes']} bytes of records received by this node")
    # The backup has all that was acknowledged before it began, and a consistent
    # state of the rest: no money is made or lost.
    objects = self.objects_of(other)
    balances = [int(base64.b64decode(value)) for key, (value, _) in
                objects.items()
                if base64.b64decode(key).startswith(b"bank/")]
    self.assertEqual(sum(balances), 50 * 1000)
    for _, version in objects.values():
      self.assertLessEqual(int(version), int(saved["sequence"]))
    self.cluster.kill("n1", signal.SIGKILL)  # the load is no more needed

  def test_versions_are_never_reused(self):
    self.kamino("put", "a", "1")
    saved = self.save()
    self.kamino("put", "a", "2")  # behind the backup: that number is taken
    lost = self.objects_of(self.cluster)
    other = self.other_cluster()
    other.kamino("backup", "restore", self.file)
    before = self.objects_of(other)
    self.assertEqual([int(v) <= int(saved["sequence"])
                      for _, v in before.values()], [True])
    other.kamino("put", "a", "3")
    after = self.objects_of(other)
    self.assertGreater(int(list(after.values())[0][1]),
                       int(list(lost.values())[0][1]) + (1 << 30))
    # All nodes have come to the same, and can start again.
    for name in ("n1", "n2", "n3"):
      other.kill(name, signal.SIGKILL)
    for name in ("n1", "n2", "n3"):
      other.restart(name)
    other.await_chain(["n1", "n2", "n3"], timeout=30)
    self.assertEqual(self.objects_of(other), after)

  def test_saves_by_pipe_compress_and_do_not_overwrite(self):
    self.fill(count=200)
    saved = self.save("--compress")
    self.assertLess(int(saved["file_bytes"]), int(saved["bytes"]) / 4)
    self.kamino("backup", "save", self.file, expect=1,
                stderr="is there already; --force")
    self.save("--force")
    seeds = f"--seeds={self.cluster.seeds}"
    binary = self.cluster.binary("kamino")
    with subprocess.Popen([binary, seeds, "backup", "save", "-"],
                          stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as save:
      done = subprocess.run([binary, "backup", "verify", "-", "--json"],
                            stdin=save.stdout, stdout=subprocess.PIPE,
                            check=True)
      self.assertEqual(save.stderr.read(), b"")
    self.assertEqual(json.loads(done.stdout)["content_hash"],
                     saved["content_hash"])
    self.assertEqual(sorted(os.listdir(self.folder)),
                     ["b.kmb", "c", "fill.tsv"])

  def save_while_the_tail_dies(self, *words):
    """Kills the tail when a MiB is saved; returns the finished command."""
    self.fill(count=8000)
    order, _ = self.cluster.chain()
    done = []
    thread = threading.Thread(target=lambda: done.append(self.run_kamino(
        self.cluster, "backup", "save", self.file, "--rate=1", *words)))
    thread.start()
    wait_until(lambda: any(
        name.startswith("b.kmb.unfinished") and os.path.getsize(
            os.path.join(self.folder, name)) > (1 << 20)
        for name in os.listdir(self.folder)), 30, "a part of the file")
    self.cluster.kill(order[-1], signal.SIGKILL)
    thread.join()
    return done[0]

  def test_a_save_fails_when_the_tail_dies(self):
    done = self.save_while_the_tail_dies()
    self.assertEqual(done.returncode, 3, done.stderr)
    self.assertFalse(os.path.exists(self.file))
    self.assertEqual([n for n in os.listdir(self.folder) if "b.kmb" in n], [])

  def test_a_save_restarts_when_the_tail_dies(self):
    done = self.save_while_the_tail_dies("--retries=20", "--json")
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertIn("from the beginning again", done.stderr)
    self.kamino("backup", "verify", self.file)
    self.assertEqual(json.loads(done.stdout)["content_hash"],
                     self.hash_of(self.cluster)["content_hash"])
    self.assertEqual([n for n in os.listdir(self.folder) if "b.kmb" in n],
                     ["b.kmb"])

  def test_an_unwritable_file_is_an_error(self):
    self.kamino("put", "a", "x" * 5000)
    for words in (("save", os.path.join(self.folder, "none", "b.kmb")),
                  ("save", "--force", self.folder),
                  ("verify", self.folder), ("restore", self.folder)):
      self.kamino("backup", *words, expect=2, stderr="cannot ")
      done = self.run_kamino(self.cluster, "backup", *words)
      self.assertNotIn(": :", done.stderr)
    done = self.run_limited(4096, "backup", "save", self.file)
    self.assertEqual(done.returncode, 1, done.stderr)
    self.assertIn("File too large", done.stderr)
    self.assertEqual([n for n in os.listdir(self.folder) if "b.kmb" in n], [])


class SmallSnapshotTest(BackupTest):
  start = {**SMALL, "node_flags": ("--snapshot_mb=1",)}

  def test_too_many_changes_end_a_save(self):
    self.fill(count=8000)
    done = []
    thread = threading.Thread(target=lambda: done.append(self.run_kamino(
        self.cluster, "backup", "save", self.file, "--rate=1")))
    thread.start()
    while thread.is_alive():
      self.fill(count=3000)
    self.assertEqual(done[0].returncode, 1, done[0])
    for text in ("has ended", "--rate", "--snapshot_mb"):
      self.assertIn(text, done[0].stderr)
    self.assertFalse(os.path.exists(self.file))


class DamageTest(BackupTest):

  def test_damage_in_each_region_is_detected(self):
    self.fill(count=50, size=200)
    self.save()
    with open(self.file, "rb") as f:
      good = f.read()
    bad = os.path.join(self.folder, "bad.kmb")
    places = set(range(0, 140)) | set(range(140, len(good), 97)) | set(
        range(len(good) - 80, len(good)))
    for place in sorted(places):
      damaged = bytearray(good)
      damaged[place] ^= 0x10
      with open(bad, "wb") as f:
        f.write(damaged)
      done = self.run_kamino(self.cluster, "backup", "verify", bad)
      self.assertEqual(done.returncode, 1, f"byte {place}: {done.stderr}")
      self.assertTrue(done.stderr.startswith(f"kamino: {bad}: "), done.stderr)
    for length in (0, 10, 24, 100, len(good) // 2, len(good) - 1):
      with open(bad, "wb") as f:
        f.write(good[:length])
      done = self.run_kamino(self.cluster, "backup", "verify", bad)
      self.assertEqual(done.returncode, 1, f"{length} bytes: {done.stderr}")
    with open(bad, "wb") as f:
      f.write(good + b"?")
    done = self.run_kamino(self.cluster, "backup", "verify", bad)
    self.assertEqual(done.returncode, 1, done.stderr)
    for path in ("/nowhere", self.folder, "/proc/self/mem"):
      done = self.run_kamino(self.cluster, "backup", "verify", path)
      self.assertEqual(done.returncode, 2, done.stderr)
    # Nothing is begun with one that is damaged.
    other = self.other_cluster()
    done = self.run_kamino(other, "backup", "restore", bad)
    self.assertEqual(done.returncode, 1, done.stderr)
    self.assertTrue(done.stderr.startswith(f"kamino: {bad}: "), done.stderr)
    other.kamino("put", "a", "1")


class RestoreTest(BackupTest):

  def test_a_restore_over_objects_is_refused(self):
    self.kamino("put", "a", "1")
    self.save()
    self.kamino("backup", "restore", self.file, expect=1, stderr="has objects")
    self.assertEqual(self.kamino("get", "a"), "1\n")

  def test_a_restore_into_a_small_heap_is_refused(self):
    self.fill(count=9000)
    self.save()
    other = self.other_cluster(heap_mb=16)
    done = self.run_kamino(other, "backup", "restore", self.file)
    self.assertEqual(done.returncode, 1)
    self.assertIn("larger heap", done.stderr)
    other.kamino("put", "a", "1")  # it was not begun

  def interrupt(self, other):
    """A restore, killed on the way."""
    binary = other.binary("kamino")
    with open(self.file, "rb") as f:
      whole = f.read()
    with subprocess.Popen([binary, f"--seeds={other.seeds}", "backup",
                           "restore", "-"], stdin=subprocess.PIPE,
                          stderr=subprocess.PIPE) as restore:
      restore.stdin.write(whole[:len(whole) * 2 // 3])
      restore.stdin.flush()
      wait_until(lambda: self.run_kamino(other, "get", "x").stderr.find(
          "[restoring]") >= 0, 30, "the restore to begin")
      restore.kill()

  def test_an_interrupted_restore_can_be_repeated(self):
    self.fill(count=3000)
    saved = self.save()
    other = self.other_cluster()
    self.interrupt(other)
    for words in (("get", "key000001"), ("put", "a", "1"), ("scan",),
                  ("backup", "save", os.path.join(self.folder, "no.kmb"))):
      done = self.run_kamino(other, *words)
      self.assertNotEqual(done.returncode, 0, words)
      self.assertIn("[restoring]", done.stderr)
    # Another backup is not mixed into it.
    self.kamino("put", "more", "1")
    another = os.path.join(self.folder, "another.kmb")
    self.save(file=another)
    done = self.run_kamino(other, "backup", "restore", another)
    self.assertEqual(done.returncode, 1)
    self.assertIn("give it up", done.stderr)
    self.assertIn("[restoring]", done.stderr)
    # The head dies while it goes on.
    order, _ = other.chain()
    killer = threading.Timer(0.3, lambda: other.kill(order[0], signal.SIGKILL))
    killer.start()
    other.kamino("backup", "restore", self.file, timeout=120)
    killer.join()
    self.assertEqual(self.hash_of(other)["content_hash"], saved["content_hash"])
    other.kamino("put", "a", "1")

  def test_an_interrupted_restore_can_be_given_up(self):
    self.fill(count=1000)
    self.save()
    other = self.other_cluster()
    self.interrupt(other)
    done = self.run_kamino(other, "bench", "put", "--count=3")
    self.assertEqual(done.returncode, 1, done.stderr)
    self.assertIn("[restoring]", done.stderr)
    self.assertRegex(done.stdout, r"(?m)^put +0 +0 +0 +3 ")
    done = other.kamino("backup", "restore", "--give_up")
    self.assertIn("the restore is given up", done.stdout)
    self.assertEqual(self.objects_of(other), {})
    other.kamino("put", "a", "1")
    # Its answer may have been lost: it is asked for again, and changes nothing.
    done = other.kamino("backup", "restore", "--give_up")
    self.assertIn("nothing was being restored", done.stdout)
    done = other.kamino("backup", "restore", "--give_up", "--json")
    self.assertEqual(json.loads(done.stdout), {"given_up": False})
    self.assertEqual(other.kamino("get", "a").stdout, "1\n")

  def test_a_completed_restore_cannot_be_given_up(self):
    self.kamino("put", "a", "1")
    self.save()
    other = self.other_cluster()
    other.kamino("backup", "restore", self.file)
    done = self.run_kamino(other, "backup", "restore", "--give_up")
    self.assertEqual(done.returncode, 1)
    self.assertIn("[not empty]", done.stderr)
    self.assertEqual(other.kamino("get", "a").stdout, "1\n")

  def test_a_restore_notices_that_another_client_gave_it_up(self):
    """The error says what to do, and has the cluster's reason."""
    self.fill(count=1000)
    self.save()
    other = self.other_cluster()
    with open(self.file, "rb") as f:
      whole = f.read()
    for json_words in ((), ("--json",)):
      with subprocess.Popen([other.binary("kamino"), f"--seeds={other.seeds}",
                             "backup", "restore", "-", *json_words],
                            stdin=subprocess.PIPE,
                            stderr=subprocess.PIPE) as restore:
        restore.stdin.write(whole[:len(whole) * 2 // 3])
        restore.stdin.flush()
        wait_until(lambda: self.run_kamino(other, "get", "x").stderr.find(
            "[restoring]") >= 0, 30, "the restore to begin")
        other.kamino("backup", "restore", "--give_up")
        said = restore.communicate(whole[len(whole) * 2 // 3:],
                                   timeout=patience(60))[1].decode("utf-8")
      self.assertEqual(restore.returncode, 1, said)
      self.assertIn("the cluster serves, and may not have all", said)
      self.assertNotIn("serves no client", said)
      if json_words:
        self.assertEqual(json.loads(said)["error"]["reason"],
                         "REASON_NOT_EMPTY")
      else:
        self.assertIn("[not empty]", said)
      self.assertEqual(self.objects_of(other), {})

  def test_an_unanswered_begin_explains_the_next_step(self):
    """The restore may have begun: the error says what to do."""
    self.kamino("put", "a", "1")
    self.save()
    other = self.other_cluster()
    order, _ = other.chain()
    for name in (*other.managers, order[-1]):
      other.kill(name, signal.SIGSTOP)
    done = self.run_kamino(other, "backup", "restore", self.file)
    for name in (*other.managers, order[-1]):
      other.kill(name, signal.SIGCONT)
    self.assertEqual(done.returncode, 3, done.stderr)
    self.assertIn("--give_up", done.stderr)


class CheckTest(BackupTest):

  def check(self, path, expect):
    done = self.run_program(self.cluster.binary("kamino_check"), "--json", path)
    self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]

  def test_a_stopped_cluster_is_sound_and_damage_is_found(self):
    self.open_bank()
    load = Load(self.cluster, count=3000)
    load.join()
    self.fill(count=300)
    path = self.cluster.data_dir("n2")
    done = self.run_program(self.cluster.binary("kamino_check"), path)
    self.assertEqual(done.returncode, 2, done.stdout)
    self.assertIn("in use", done.stderr)
    done = self.run_program(self.cluster.binary("kamino_check"), "--json", path)
    self.assertEqual(done.returncode, 2, done.stdout)
    self.assertIn("in use", json.loads(done.stderr)["error"]["message"])
    # A name that is not UTF-8, and characters that JSON escapes.
    absent = os.fsdecode(b"/nope/\xff\"'")
    done = self.run_program(self.cluster.binary("kamino_check"), absent)
    text = done.stderr
    done = self.run_program(self.cluster.binary("kamino_check"), "--json",
                            absent)
    self.assertEqual(done.returncode, 2, done.stdout)
    message = json.loads(done.stderr)["error"]["message"]
    self.assertIn("/nope/\\xff\"'", message)
    self.assertEqual(text, f"kamino check: {message}\n")
    self.cluster.stop()
    for words in ((), ("--json",)):
      with open("/dev/full", "wb") as full:
        done = subprocess.run([self.cluster.binary("kamino_check"), path,
                               *words], stdout=full, stderr=subprocess.PIPE,
                              text=True, timeout=patience(30), check=False)
      self.assertEqual(done.returncode, 1, done.stderr)
      said = json.loads(done.stderr)["error"]["message"] if words else (
          done.stderr)
      self.assertIn("cannot write", said)
    for name in ("n1", "n2", "n3"):
      report = self.check(self.cluster.data_dir(name), expect=0)
      self.assertEqual(len(report), 1)
      self.assertTrue(report[0]["sound"])
      self.assertGreaterEqual(int(report[0]["objects"]), 350)
    # A byte of a page of the index: the key of a leaf, where a search misses.
    heap = os.path.join(path, "heap.pmem")
    with open(heap, "r+b") as f:
      whole = f.read()
      place = whole.rfind(b"key000123")
      self.assertGreater(place, 0)
      f.seek(place)
      f.write(b"zzz")
    before = os.stat(heap)
    with open(heap, "rb") as f:
      damaged = f.read()
    findings = self.check(path, expect=1)
    self.assertIn("region", findings[0])
    with open(heap, "rb") as f:
      self.assertEqual(f.read(), damaged)
    self.assertEqual(os.stat(heap).st_mtime_ns, before.st_mtime_ns)

  def test_files_of_a_killed_node_are_no_finding(self):
    self.open_bank()
    load = Load(self.cluster, count=ENDLESS)
    load.await_acked(1000)
    for name in ("n1", "n2", "n3"):
      self.cluster.kill(name, signal.SIGKILL)
    for name in ("n1", "n2", "n3"):
      self.check(self.cluster.data_dir(name), expect=0)

  def test_random_damage_never_crashes_the_check(self):
    self.fill(count=300)
    self.cluster.stop()
    path = self.cluster.data_dir("n2")
    random = Random(17)
    for round_ in range(60):
      name = random.choice(["heap.pmem", "heap.pmem", "ring.pmem"])
      file = os.path.join(path, name)
      size = os.path.getsize(file)
      changes = []
      with open(file, "r+b") as f:
        for _ in range(random.choice([1, 10, 1000])):
          # Mostly where there is something.
          place = random.randrange(size if random.random() < 0.2 else
                                   min(size, 4 << 20))
          f.seek(place)
          changes.append((place, f.read(1)))
          f.seek(place)
          f.write(bytes([random.randrange(256)]))
      done = self.run_program(self.cluster.binary("kamino_check"), path)
      self.assertIn(done.returncode, (0, 1, 2), f"round {round_}: {done}")
      with open(file, "r+b") as f:
        for place, byte in reversed(changes):
          f.seek(place)
          f.write(byte)
    self.check(path, expect=0)


if __name__ == "__main__":
  main()
