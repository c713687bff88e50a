"""Style and structure as a test: what no reader should have to point out."""

import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import prose_rule
import size_rule
import speed_rule

ROOT = os.environ.get("KAMINO_TREE") or os.getcwd()
MAX_BYTES = 512 << 10  # a core dump, a program
MAX_LINE = 80
MAX_PROSE_LINE = 120
MAX_FILE = 800
RESULTS = "out"  # folders of them, which git ignores

# Folder to the first folders that it may include, besides base/
# (docs/design/architecture.md, Folder dependencies). In kamino/ are headers
# that are generated of our protos, in proto/ what is written by hand beside
# them, in google/ those of protobuf and of its status, in etcd/ those of etcd's
# protos.
MAY_USE = {
    "base": set(),
    "metrics": {"metrics"},
    "web": {"web", "security"},
    "config": {"config"},
    "logs": {"logs"},
    "proto": {"proto", "kamino", "google"},
    "engine": {"engine"},
    "bench": {"bench", "engine", "transport", "rpc", "security", "client",
              "proto", "kamino", "google", "etcd"},
    "lab": {"lab", "engine", "bench"},
    "security": {"security", "config"},
    "transport": {"transport", "security"},
    "rpc": {"rpc", "security", "metrics", "logs", "kamino", "google"},
    "membership": {"membership", "config", "logs", "rpc", "security", "metrics",
                   "web", "proto", "kamino", "google", "etcd"},
    "replica": {"replica", "engine", "transport", "membership", "kamino",
                "proto"},
    "head": {"head", "replica", "engine", "kamino"},
    "examples": {"examples", "replica"},
    "node": {"node", "head", "replica", "engine", "transport", "membership",
             "config", "logs", "rpc", "security", "metrics", "web", "proto",
             "kamino", "google"},
    "client": {"client", "config", "logs", "rpc", "security", "transport",
               "proto", "kamino", "google"},
}
# Outside membership/, only its headers that decide by views may be used.
MEMBERSHIP_FOR_REPLICA = {"membership/condition.h",
                          "membership/member_identity.h",
                          "membership/view.h"}

BANNED = [
    (re.compile(r"\b(TODO|FIXME|XXX|HACK)\b"), "left open"),
    (re.compile(r"/(root|home|work)/"), "a path of one machine"),
    (re.compile(r"\b(?:sleep_for|SleepFor|usleep)\b"), "sleeps"),
]
PROJECT_FOLDERS = set(MAY_USE)

# Those that wait for something outside look at it again and again, in one place
# each; what is looked at for a time lasts that time; and programs of tests are
# there to be held.
MAY_SLEEP = {
    "tests/chaos/effects_test.py",
    "tests/clock/stepped_clock_test.py",
    "tests/deploy/debian_machine.py",
    "tests/kubernetes/services.py",
}

# Only simulator runs by hand plant it: it takes the managers' defence away, so
# that one looks at what the neighbours' is worth alone.
FAULTS_BY_HAND = {"old-copies-are-for-neighbours-to-see"}


def is_made(folder):
  """Whether a folder is of what builds and runs make."""
  return folder.startswith("bazel-") or folder == RESULTS


def files(*suffixes):
  for folder, folders, names in os.walk(ROOT):
    folders[:] = [f for f in folders
                  if not f.startswith(".") and not is_made(f)]
    for name in names:
      if name.endswith(suffixes):
        path = os.path.join(folder, name)
        yield os.path.relpath(path, ROOT), path


def in_the_tree(path):
  """Whether `path` is there, and would be in a clean checkout."""
  folders = os.path.relpath(path, ROOT).split(os.sep)[:-1]
  return os.path.exists(path) and not any(map(is_made, folders))


def is_test(name):
  return name.startswith(("tests/", "lab/tests/"))


def lines(path):
  with open(path, encoding="utf-8") as f:
    return f.read().split("\n")


def headings(text):
  """(number of the line, level, heading) of each heading of a document."""
  code = False
  for i, line in enumerate(text, 1):
    if line.lstrip().startswith("```"):
      code = not code
    found = re.match(r"(#{1,6}) (.*)", line)
    if found and not code:
      yield i, len(found.group(1)), found.group(2)


def anchors(text):
  """By which links name the headings of a document, as GitHub makes them."""
  made = collections.Counter()
  for _, _, heading in headings(text):
    shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    anchor = re.sub(r"[^\w\- ]", "", shown).replace(" ", "-")
    made[anchor] += 1
  return {f"{anchor}-{i}" if i else anchor
          for anchor, count in made.items() for i in range(count)}


class TidyTest(unittest.TestCase):

  def check(self, problems):
    self.assertFalse(problems, "\n" + "\n".join(problems))

  def test_sees_the_tree(self):
    names = {name for name, _ in files(".cc", ".h", ".md", ".py")}
    for expected in ("README.md", "engine/heap/heap.cc",
                     "tests/tidy/tidy_test.py", "docs/formats/heap.md"):
      self.assertIn(expected, names)

  def test_lines_and_files_are_short(self):
    problems = []
    for name, path in files(".cc", ".h", ".py", ".proto"):
      text = lines(path)
      if len(text) > MAX_FILE:
        problems.append(f"{name}: {len(text)} lines")
      for i, line in enumerate(text, 1):
        if len(line) > MAX_LINE and "http" not in line and "/gocode/" not in line:
          problems.append(f"{name}:{i}: {len(line)} characters")
        if line != line.rstrip():
          problems.append(f"{name}:{i}: space at the end")
    self.check(problems)

  def test_no_large_file_is_checked_in(self):
    problems = []
    for name, path in files(""):
      size = os.path.getsize(path)
      if size > MAX_BYTES:
        problems.append(f"{name}: {size} bytes")
    self.check(problems)

  def test_prose_is_wrapped(self):
    problems = []
    for name, path in files(".md"):
      code = False
      for i, line in enumerate(lines(path), 1):
        if line.lstrip().startswith("```"):
          code = not code
        free = code or line.lstrip().startswith("|")
        if len(line) > MAX_PROSE_LINE and not free:
          problems.append(f"{name}:{i}: {len(line)} characters")
    self.check(problems)

  def test_nothing_banned(self):
    problems = []
    for name, path in files(".cc", ".h", ".py", ".proto", ".md", "BUILD",
                            ".bzl"):
      if name == "tests/tidy/tidy_test.py":
        continue
      for i, line in enumerate(lines(path), 1):
        for pattern, why in BANNED:
          if pattern.search(line):
            problems.append(f"{name}:{i}: {why}: {line.strip()}")
    self.check(problems)

  def test_no_test_sleeps(self):
    problems = []
    sleeps = re.compile(r"\b(?:time\.sleep\(|from time import .*\bsleep\b)")
    for name, path in files(".py"):
      if (not is_test(name) or name.startswith("tests/tidy/") or
          name in MAY_SLEEP):
        continue
      for i, line in enumerate(lines(path), 1):
        if sleeps.search(line):
          problems.append(f"{name}:{i}: sleeps; wait_until something is so: "
                          f"{line.strip()}")
    self.check(problems)

  def test_no_test_judges_a_speed(self):
    problems, allowed = [], set()
    for name, path in files(".cc", ".h", ".py"):
      if not is_test(name):
        continue
      for i, line in speed_rule.lines_that_judge(name, "\n".join(lines(path))):
        if (name, line) in speed_rule.ALLOWED:
          allowed.add((name, line))
        else:
          problems.append(f"{name}:{i}: judges a speed; count what is done, "
                          "or measure it by a benchmark (CONTRIBUTING.md): "
                          f"{line}")
    problems += [f"tests/tidy/speed_rule.py: allows what {name} has not: {line}"
                 for name, line in sorted(set(speed_rule.ALLOWED) - allowed)]
    self.check(problems)

  def test_no_place_grows_beyond_its_limit(self):
    names = [name for name, _ in files(".cc", ".h")
             if size_rule.is_measured(name)]
    found = size_rule.sizes(size_rule.tags_of(ROOT, names))
    permitted = "\n".join(lines(os.path.join(ROOT, size_rule.ALLOWED_FILE)))
    self.check(size_rule.problems(found, size_rule.allowed(permitted)))

  def test_sizes_are_counted(self):
    with tempfile.TemporaryDirectory() as folder:
      with open(os.path.join(folder, "a.h"), "w", encoding="utf-8") as f:
        f.write("class A {\n public:\n  A(int a, std::map<int, int> b);\n"
                "  void F();\n  void F(int);\n  int G() const { return b_; }\n"
                " private:\n"
                "  bool R() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);\n"
                "  static constexpr int kC = 1;\n  int b_;\n"
                "  int g_ ABSL_GUARDED_BY(mu_) = 0;\n};\n"
                "int H() {\n  return 1;\n}\n")
      found = size_rule.sizes(size_rule.tags_of(folder, ["a.h"]))
    self.assertEqual(found, {
        ("a.h", "A", "parameters"): 2, ("a.h", "A", "methods"): 4,
        ("a.h", "A", "fields"): 2, ("a.h", "A::G", "lines"): 1,
        ("a.h", "H", "lines"): 3})

  def test_sizes_may_become_smaller_only(self):
    place = "a.h", "A", "methods"
    self.assertEqual(size_rule.problems({place: 30}, {place: 30}), [])
    self.assertEqual(len(size_rule.problems({place: 31}, {place: 30})), 1)
    self.assertEqual(len(size_rule.problems({place: 26}, {})), 1)
    self.assertEqual(len(size_rule.problems({place: 29}, {place: 30})), 1)

  def test_prose_has_no_more_idioms(self):
    found = prose_rule.idioms_of_tree(files(""))
    allowed = "\n".join(lines(os.path.join(ROOT, prose_rule.ALLOWED_FILE)))
    self.check(prose_rule.problems(found, prose_rule.allowed(allowed)))

  def test_idioms_are_detected(self):
    for line in ["// Whoever asks is told.", "the client, of whom it is",
                 "// Of a node.", "# What a crash leaves.", "## Who is refused",
                 "an answer to those who wait", "what is no message",
                 "a node who comes back"]:
      self.assertEqual(prose_rule.idioms(line), [(1, line)], line)
    for text in ["// A returning node receives the pages that changed.",
                 "## What is Kamino?", "whole pages", "see whois(1)",
                 "// A sentence that goes on with the name\n// What for.",
                 "```\nnobody\n```"]:
      self.assertEqual(prose_rule.idioms(text), [], text)

  def test_scripts_have_prose(self):
    with tempfile.TemporaryDirectory() as folder:
      for name, text, expected in [
          ("run", "#!/bin/sh\n", True), ("go.sum", "github.com/a\n", False),
          ("nodes.yaml", "a: 1\n", True), ("Makefile", "all:\n", True),
          ("empty", "", False)]:
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as f:
          f.write(text)
        self.assertEqual(prose_rule.has_prose(name, path), expected, name)

  def test_idioms_may_become_fewer_only(self):
    found = {"a/b.cc": [(1, "// Of x."), (7, "nobody")]}
    self.assertEqual(prose_rule.problems(found, {"a": 2}), [])
    self.assertIn("a/b.cc:7: nobody", prose_rule.problems(found, {"a": 1}))
    self.assertEqual(len(prose_rule.problems(found, {"a": 3})), 1)

  def test_speed_checks_are_detected(self):
    judge = ["EXPECT_LT(absl::Now() - begin, absl::Seconds(5));",
             "EXPECT_GT(absl::Seconds(5), MonotonicNow() - begin);",
             "EXPECT_LE(took, kMost);",
             "ASSERT_NEAR(elapsed, 0.3, 0.1);",
             "EXPECT_GT(fastest_ * speed,\n          kLeastSpeed);",
             "EXPECT_TRUE(absl::Now() < end);",
             "return steady_clock::now() - begin < kMost;"]
    do_not = ["EXPECT_GE(MonotonicNow() - begin, kWait);",
              "EXPECT_GT(row.per_second, 0);",
              "EXPECT_LT(counts.events, 100u);  // seconds",
              'EXPECT_EQ(text, "took < 5 seconds");',
              "EXPECT_LE(options.most, absl::Seconds(5));",
              "while (absl::Now() < end) Step();"]
    for line in judge:
      self.assertEqual(speed_rule.in_cpp(f"int x;\n{line}"), [2], line)
    for line in do_not:
      self.assertEqual(speed_rule.in_cpp(line), [], line)
    judge = ["self.assertLess(time.monotonic() - began, 5)",
             "self.assertLess(silence, OUTAGE_S, what)",
             'self.assertLessEqual(row["median"], 5000)',
             "self.assertGreater(speed, 10)",
             "self.assertTrue(elapsed < 3)"]
    do_not = ["self.assertGreater(took_ms, 400)",
              'self.assertGreater(row["ops_per_s"], 0)',
              "self.assertLess(len(seen), 5)",
              "wait_until(lambda: took(), 5, 'it')"]
    for line in judge:
      self.assertEqual(speed_rule.in_python(line), [1], line)
    for line in do_not:
      self.assertEqual(speed_rule.in_python(line), [], line)

  def test_no_placeholder_is_left(self):
    problems = []
    placeholder = re.compile(r"[A-Z][A-Z_ ]+$")
    for name, path in files(".md"):
      code = False
      for i, line in enumerate(lines(path), 1):
        if line.lstrip().startswith("```"):
          code = not code
        elif not code and placeholder.match(line):
          problems.append(f"{name}:{i}: nothing but {line}")
    self.check(problems)

  def test_include_guards(self):
    problems = []
    for name, path in files(".h"):
      guard = "KAMINO_" + re.sub(r"[/.]", "_", name).upper() + "_"
      text = "\n".join(lines(path))
      if (f"#ifndef {guard}\n#define {guard}\n" not in text or
          f"#endif  // {guard}" not in text):
        problems.append(f"{name}: the guard is not {guard}")
    self.check(problems)

  def test_headers_begin_with_a_comment(self):
    problems = []
    for name, path in files(".h"):
      if is_test(name):
        continue
      if not lines(path)[0].startswith("//"):
        problems.append(f"{name}: begins without a comment")
    self.check(problems)

  def test_dependencies_go_one_way(self):
    problems = []
    include = re.compile(r'#include "([^"]+)"')
    for name, path in files(".cc", ".h"):
      folder = name.split("/")[0]
      if folder not in MAY_USE:
        continue
      for i, line in enumerate(lines(path), 1):
        found = include.match(line)
        if not found:
          continue
        used = found.group(1)
        top = used.split("/")[0]
        ours = top in PROJECT_FOLDERS or top in ("kamino", "google", "etcd")
        if ours and top not in MAY_USE[folder] | {"base"}:
          problems.append(f"{name}:{i}: {folder} may not use {used}")
        if (folder == "replica" and top == "membership" and
            used not in MEMBERSHIP_FOR_REPLICA):
          problems.append(f"{name}:{i}: replica may not use {used}")
        # But for the bench that compares with it.
        if top == "etcd" and not name.startswith(("membership/etcd/",
                                                  "bench/service/etcd_")):
          problems.append(f"{name}:{i}: only membership/etcd speaks to etcd")
    self.check(problems)

  def test_rpc_alone_makes_servers_channels_and_statuses(self):
    problems = []
    own = re.compile(r"Insecure\w*Credentials|set_deadline\(|"
                     r"static_cast<(grpc|absl)::StatusCode>")
    for name, path in files(".cc", ".h"):
      # Servers of tests take their credentials from rpc/.
      if name.startswith(("rpc/", "tests/")):
        continue
      for i, line in enumerate(lines(path), 1):
        if own.search(line) or "grpc::ServerBuilder" in line:
          problems.append(f"{name}:{i}: that is for rpc/: {line.strip()}")
    for name, path in files(".cc", ".h", ".py"):
      if name.startswith(("rpc/credentials.cc", "tests/tidy/")):
        continue
      for i, line in enumerate(lines(path), 1):
        if "Insecure" in line and "Credentials" in line:
          problems.append(f"{name}:{i}: rpc/credentials.h has them")
    self.check(problems)

  def test_channels_are_made_in_one_place(self):
    """A channel made elsewhere follows the environment's proxies."""
    makers = {"rpc/channel.cc", "tests/rpc/plain_channel.h"}
    makes = re.compile(r"\bCreate\w*Channel\w*\(|\bInProcessChannel\(|"
                       r"\bgrpc_channel_create\(|"
                       r"\bgrpc\.(aio\.)?(in)?secure_channel\(")
    problems, made = [], set()
    for name, path in files(".cc", ".h", ".py"):
      text = lines(path)
      for i, line in enumerate(text, 1):
        if not makes.search(line):
          continue
        made.add(name)
        if name not in makers:
          problems.append(f"{name}:{i}: makes a channel; MakeChannel of "
                          f"rpc/channel.h does: {line.strip()}")
      if name in makers and not any(
          "SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0)" in line for line in text):
        problems.append(f"{name}: its channels follow proxies")
    self.assertEqual(makers - made, set())
    self.check(problems)

  def test_no_file_uses_the_wall_clock(self):
    problems = []
    wall = re.compile(r"absl::Now\(|system_clock|WithDeadline\(|gettimeofday|"
                      r"CLOCK_REALTIME|\btime\((nullptr|NULL|0)\)")
    for name, path in files(".cc", ".h"):
      # The layer between Abseil's waits and that clock has to look at it;
      # certificates are dated by the calendar, and so are last words, what
      # operators did and backups.
      if (name.split("/")[0] not in PROJECT_FOLDERS or
          name in ("base/monotonic_waits.cc", "server/audit_log.cc",
                   "security/certificates.cc", "logs/last_words.cc",
                   # Lines that glog does not date.
                   "logs/log.cc",
                   # Certificates are dated by the calendar.
                   "client/cli/authority_folder.cc",
                   "membership/etcd/etcd_tls.cc",
                   "client/cli/wall_clock.cc")):
        continue
      for i, line in enumerate(lines(path), 1):
        if wall.search(line) and not line.lstrip().startswith("//"):
          problems.append(f"{name}:{i}: goes by the wall clock, which may be "
                          "set; base/clock.h")
    self.check(problems)

  def test_every_thread_has_a_name(self):
    """As tools show it, and as chaos chooses whom to hold."""
    problems = []
    makes = re.compile(r"std::thread\(\[|^\s*[:,]?.*\bthread_\(\[|"
                       r"\bpthread_create\(")
    for name, path in files(".cc"):
      if name.split("/")[0] not in PROJECT_FOLDERS - {"bench", "lab"}:
        continue
      text = lines(path)
      made = sum(bool(makes.search(line)) for line in text)
      named = sum("pthread_setname_np(" in line for line in text)
      if made != named:
        problems.append(f"{name}: makes {made} threads and names {named} "
                        "(pthread_setname_np)")
    self.check(problems)

  def test_every_thread_is_documented(self):
    told = "\n".join(lines(os.path.join(ROOT, "docs/design/architecture.md")))
    named = re.compile(r'pthread_setname_np\([^;]*?"([^"]+)"\)')
    problems = []
    for name, path in files(".cc"):
      if name.split("/")[0] not in PROJECT_FOLDERS - {"bench", "lab"}:
        continue
      for thread in named.findall("\n".join(lines(path))):
        if f"`{thread}`" not in told:
          problems.append(f"{name}: docs/design/architecture.md, Threads, "
                          f"lacks {thread}")
    self.check(problems)

  def test_every_source_is_built(self):
    problems = []
    for name, path in files(".cc", ".h"):
      build = os.path.join(os.path.dirname(path), "BUILD")
      base = os.path.basename(path)
      if not os.path.exists(build) or f'"{base}"' not in "\n".join(
          lines(build)):
        problems.append(f"{name}: in no BUILD file of its folder")
    self.check(problems)

  def test_only_tests_use_planted_faults(self):
    problems = []
    for name, path in files(".cc", ".h", ".py", ".proto", "BUILD", ".bzl"):
      if is_test(name):
        continue
      for i, line in enumerate(lines(path), 1):
        if "FaultPlanted" in line or "tests/faults" in line:
          problems.append(f"{name}:{i}: faults are planted by patches; see "
                          f"docs/testing/faults.md: {line.strip()}")
    self.check(problems)

  def test_every_planted_fault_is_tried(self):
    planted, tried = {}, set()
    in_call = re.compile(r'FaultPlanted\("([a-z-]+)"')
    in_text = re.compile(r'"([a-z]+(?:-[a-z]+)+)"')
    for name, path in files(".patch", ".cc"):
      if not is_test(name):
        continue
      text = "\n".join(lines(path))
      if name.endswith(".patch"):
        added = "\n".join(l for l in lines(path) if l.startswith("+"))
        planted.update((fault, name) for fault in in_text.findall(added))
        continue
      planted.update((fault, name) for fault in in_call.findall(text))
      tried.update(in_text.findall(in_call.sub("", text)))
    self.assertGreater(len(planted), 70)
    self.check([f"{name}: no test plants {fault}"
                for fault, name in sorted(planted.items())
                if fault not in tried | FAULTS_BY_HAND])

  def test_links_in_documents_have_a_target(self):
    problems = []
    link = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
    path_in_code = re.compile(r"`((?:[a-z_]+/)+[a-z_.]+\.(?:h|cc|md|py|txt))`")
    for name, path in files(".md"):
      for i, line in enumerate(lines(path), 1):
        for target in link.findall(line):
          if not in_the_tree(os.path.join(os.path.dirname(path), target)):
            problems.append(f"{name}:{i}: {target} is not there")
        for target in path_in_code.findall(line):
          if not in_the_tree(os.path.join(ROOT, target)):
            problems.append(f"{name}:{i}: {target} is not there")
    for name, path in files(".h", ".cc", ".proto"):
      for i, line in enumerate(lines(path), 1):
        for target in re.findall(r"\b(?:lab/)?docs/(?:[a-z_]+/)*[a-z_]+\.md",
                                 line):
          if not in_the_tree(os.path.join(ROOT, target)):
            problems.append(f"{name}:{i}: {target} is not there")
    self.check(problems)

  def test_links_in_documents_match_headings(self):
    problems = []
    link = re.compile(r"\]\(([^)#:\s]*)#([^)\s]+)\)")
    for name, path in files(".md"):
      for i, line in enumerate(lines(path), 1):
        for target, anchor in link.findall(line):
          there = (os.path.join(os.path.dirname(path), target) if target else
                   path)
          if (there.endswith(".md") and os.path.exists(there) and
              anchor not in anchors(lines(there))):
            problems.append(f"{name}:{i}: {target} has no heading #{anchor}")
    self.check(problems)

  def test_anchors_match_the_rendered_ones(self):
    text = ["# A `b` of [c](d.md#e), f/g", "```", "# no heading", "```",
            "## Twice", "### Twice", "### Old_name - 2"]
    self.assertEqual(anchors(text), {"a-b-of-c-fg", "twice", "twice-1",
                                     "old_name---2"})

  def test_headings_skip_no_level(self):
    problems = []
    for name, path in files(".md"):
      above = 0
      for i, level, heading in headings(lines(path)):
        if level > above + 1:
          problems.append(f"{name}:{i}: {heading} is of level {level}, below "
                          f"one of {above}")
        above = level
    self.check(problems)

  def test_formatted(self):
    self.assertTrue(shutil.which("clang-format"),
                    "clang-format is missing; run deploy/install-packages")
    sources = [path for _, path in files(".cc", ".h")]
    done = subprocess.run(
        ["clang-format", "--dry-run", "--ferror-limit=1", *sources],
        cwd=ROOT, stderr=subprocess.PIPE, text=True, check=False)
    self.check([line for line in done.stderr.split("\n")
                if "warning:" in line])

  def test_the_next_release_can_be_built(self):
    """Which nothing else does here: make test-upgrade is run by hand."""
    done = subprocess.run(
        ["patch", "-p1", "--dry-run", "--force", "--fuzz=0", "--input",
         "tests/upgrade/next_release.patch"],
        cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
  print(f"checking {ROOT}", file=sys.stderr)
  unittest.main()
