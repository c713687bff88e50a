"""Programs of other releases: built once, from their commits, into a cache.

What has not changed between two of them is compiled once (Bazel's disk cache,
in the same folder).
"""

import hashlib
import os
import pwd
import re
import shutil
import subprocess
import tomllib

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
NEXT_PATCH = os.path.join(ROOT, "tests", "upgrade", "next_release.patch")
PROGRAMS = {
    "client/cli/kamino": "//client/cli:kamino",
    "node/kamino_node": "//node:kamino_node",
    "membership/kamino_manager": "//membership:kamino_manager",
}


class ReleaseError(Exception):
  """A release cannot be had; one line."""


def _run(*command, cwd=ROOT):
  done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE, text=True, check=False)
  if done.returncode != 0:
    raise ReleaseError(
        f"{' '.join(command[:4])}: {done.stderr.strip()[-2000:]}")
  return done.stdout.strip()


def _cache():
  home = os.environ.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir
  base = os.environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
  folder = os.path.join(base, "kamino", "releases")
  os.makedirs(folder, exist_ok=True)
  return folder


def listed():
  """The (version, commit) of releases.toml, oldest first."""
  with open(os.path.join(ROOT, "releases.toml"), "rb") as f:
    releases = tomllib.load(f).get("release", [])
  for each in releases:
    if (set(each) != {"version", "commit"} or
        not re.fullmatch("[0-9a-f]{40}", each["commit"])):
      raise ReleaseError(f"releases.toml: {each} is not a version and a whole "
                         "commit")
  return [(each["version"], each["commit"]) for each in releases]


def _build(tree):
  """Builds a tree's programs; returns where they are."""
  print(f"building the programs of {tree}", flush=True)
  _run("bazel", "build", f"--disk_cache={_cache()}/compiled",
       *PROGRAMS.values(), cwd=tree)
  return os.path.join(tree, "bazel-bin")


def _keep(tree, folder):
  """Copies a tree's programs to `folder`, whole or not at all."""
  built = _build(tree)
  for name in PROGRAMS:
    target = os.path.join(folder + ".new", name)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copy(os.path.join(built, name), target)
  os.rename(folder + ".new", folder)


def _built_from(commit, name, patch=None):
  """Where a commit's programs are, with a patch on top of it."""
  folder = os.path.join(_cache(), name)
  if os.path.isdir(folder):
    return folder
  tree = folder + ".tree"
  _remove(tree)
  shutil.rmtree(folder + ".new", ignore_errors=True)
  try:
    _run("git", "worktree", "add", "--detach", tree, commit)
  except ReleaseError as error:
    raise ReleaseError(f"commit {commit[:12]} is not in this clone, as far as "
                       f"git can tell; git fetch --unshallow? ({error})"
                       ) from error
  try:
    if patch is not None:
      _run("git", "apply", patch, cwd=tree)
    _keep(tree, folder)
  finally:
    _remove(tree)
  return folder


def _remove(tree):
  if not os.path.exists(tree):
    return
  subprocess.run(["bazel", "clean", "--expunge"], cwd=tree, check=False,
                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
  _run("git", "worktree", "remove", "--force", tree)


def this_tree():
  return _build(ROOT)


def release(commit):
  return _built_from(commit, commit)


def next_release():
  """One that can something that this tree's last commit cannot."""
  head = _run("git", "rev-parse", "HEAD")
  with open(NEXT_PATCH, "rb") as f:
    digest = hashlib.sha256(f.read()).hexdigest()[:8]
  return _built_from(head, f"{head}-{digest}", NEXT_PATCH)
