"""kamino debug dump: what all processes say of themselves, in one archive."""

import io
import json
import os
import resource
import subprocess
import tarfile
import tomllib

from harness import ClusterTest, main, patience

VALUE = "a-value-of-a-client"
KEY = "a-key-of-a-client"
ODD = 'of "rack" \\7'  # what TOML has other words for


class DebugDumpTest(ClusterTest):
  start = {"nodes": 3, "heap_mb": 16, "ring_mb": 16,
           "node_flags": (f"--verbs_device={ODD}",)}

  def dump(self, path, *words, expect=0):
    managers = ",".join(self.cluster.addresses_of(self.cluster.managers))
    done = self.cluster.kamino("debug", "dump", path, *words,
                               f"--managers={managers}", check=False)
    self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
    return done

  def read(self, path):
    """Name: content."""
    with tarfile.open(path) as archive:
      files = {}
      for entry in archive:
        self.assertTrue(entry.isfile(), entry.name)
        self.assertTrue(entry.name.startswith("kamino-debug/"), entry.name)
        files[entry.name[len("kamino-debug/"):]] = io.TextIOWrapper(
            archive.extractfile(entry), encoding="utf-8").read()
      return files

  def test_a_dump_is_complete_and_lists_what_is_missing(self):
    self.kamino("put", KEY, VALUE)
    self.kamino("call", "no.such", KEY, expect=1)
    path = os.path.join(self.folder, "dump.tar.gz")
    self.assertEqual(self.dump(path).stdout, f"wrote {path}\n")
    self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
    files = self.read(path)
    self.assertEqual(files["missing.txt"], "")
    manager = "managers/" + self.cluster.addresses_of(
        self.cluster.managers)[0].replace(":", "_")
    for folder in ("nodes/n1", "nodes/n2", "nodes/n3", manager):
      self.assertIn("cluster_id", files[f"{folder}/settings.toml"])
      self.assertIn("] ", files[f"{folder}/log.txt"])
    self.assertIn("taken in by the manager", files["nodes/n2/log.txt"])
    self.assertIn("\nheap_mb = 16\n", files["nodes/n1/settings.toml"])
    settings = tomllib.loads(files["nodes/n1/settings.toml"])
    self.assertEqual(settings["verbs_device"], ODD)
    for folder, program in (("nodes/n1", "kamino_node"),
                            (manager, "kamino_manager")):
      self.check_settings(program, files[f"{folder}/settings.toml"])
    self.assertIn('\n#log_level = "info"\n', files["nodes/n1/settings.toml"])
    self.assertEqual(json.loads(files["nodes/n1/status.json"])["node_id"], "n1")
    self.assertEqual(len(json.loads(files["cluster.json"])["nodes"]), 3)
    self.assertEqual(len(json.loads(files["chain.json"])["nodes"]), 3)
    for name, text in files.items():
      self.assertNotIn(KEY, text, name)
      self.assertNotIn(VALUE, text, name)

    # A dump does not overwrite a file.
    self.assertIn("is there already", self.dump(path, expect=1).stderr)
    other = os.path.join(self.folder, "json.tar.gz")
    told = json.loads(self.dump(other, "--json").stdout)
    self.assertEqual(told, {"file": other, "missing": []})

    self.cluster.kill("n3")
    self.check_a_full_disk()
    other = os.path.join(self.folder, "other.tar.gz")
    said = self.dump(other, expect=3).stderr
    files = self.read(other)
    self.assertIn("nodes/n3 of ", files["missing.txt"])
    self.assertIn("nodes/n3 of ", said)
    self.assertNotIn("nodes/n3/log.txt", files)
    self.assertIn("nodes/n1/log.txt", files)

  def check_settings(self, program, text):
    """The program takes them, those behind a # as well."""
    path = os.path.join(self.folder, "settings.toml")
    for settings in (text, text.replace("\n#", "\n")):
      with open(path, "w", encoding="utf-8") as f:
        f.write(settings)
      done = self.run_program(self.cluster.binary(program),
                              f"--config={path}", "--check_config_file")
      self.assertEqual(done.returncode, 0, done.stderr + settings)

  def check_a_full_disk(self):
    """Nothing is left, so it can be run again."""
    path = os.path.join(self.folder, "full.tar.gz")
    def limit():
      resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))
    for _ in range(2):
      done = subprocess.run(
          [self.cluster.binary("kamino"), f"--seeds={self.cluster.seeds}",
           "debug", "dump", path], stderr=subprocess.PIPE, text=True,
          timeout=patience(60), preexec_fn=limit, check=False)
      self.assertEqual(done.returncode, 1, done.stderr)
      self.assertIn("File too large", done.stderr)
      self.assertEqual([name for name in os.listdir(self.folder)
                        if name.startswith("full")], [])


if __name__ == "__main__":
  main()
