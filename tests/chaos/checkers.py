#!/usr/bin/env python3
"""Builds and runs the programs that check histories.

They are a Go and a Rust program, so that no part of the judgement is ours; the
toolchains fetch what they depend on, pinned by go.sum and Cargo.lock. Built
once into a cache folder, by this program or by the first one that needs them.
"""

import argparse
import fcntl
import hashlib
import json
import os
import pwd
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
TIMEOUT_S = 600
# Where toolchains are besides PATH.
GO_FOLDERS = ("/usr/lib/go/bin", "/usr/local/go/bin")
CARGO_FOLDERS = ("/usr/bin", "~/.cargo/bin")
OLDEST_CARGO = (1, 80)


class CheckError(Exception):
  """A history could not be checked; one line."""


def _home():
  return os.environ.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir


def _environment():
  """Bazel's tests have no HOME, without which no toolchain finds its cache."""
  return {**os.environ, "HOME": _home()}


def _candidates(name, folders):
  folders = [f.replace("~", _home()) for f in folders]
  found = [shutil.which(name)] + [os.path.join(f, name) for f in folders]
  return [p for p in found if p and os.access(p, os.X_OK)]


def _go():
  for path in _candidates("go", GO_FOLDERS):
    return path
  raise CheckError("go is missing; run deploy/install-packages")


def _cargo():
  for path in _candidates("cargo", CARGO_FOLDERS):
    done = subprocess.run([path, "--version"], stdout=subprocess.PIPE,
                          text=True, check=False, env=_environment())
    words = done.stdout.split()
    if len(words) < 2:
      continue
    version = tuple(int(part) for part in words[1].split(".")[:2])
    if version >= OLDEST_CARGO:
      # Its own compiler, not an older one that PATH has first.
      return path
  raise CheckError("no cargo of %d.%d or later; run deploy/install-packages" %
                   OLDEST_CARGO)


def _build_go(source, target):
  _run([_go(), "build", "-o", target, "."], source, {"CGO_ENABLED": "0"})


def _build_rust(source, target):
  folder = target + ".build"
  cargo = _cargo()
  rustc = os.path.join(os.path.dirname(cargo), "rustc")
  _run([cargo, "build", "--release", "--locked", "--quiet",
        f"--target-dir={folder}"], source,
       {"RUSTC": rustc} if os.access(rustc, os.X_OK) else {})
  os.rename(os.path.join(folder, "release", "checker"), target)
  shutil.rmtree(folder)


PROGRAMS = {"go": ("checker_go", _build_go),
            "rust": ("checker_rust", _build_rust)}


def _run(command, folder, environment):
  done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT, text=True, check=False,
                        timeout=TIMEOUT_S,
                        env={**_environment(), **environment})
  if done.returncode != 0:
    raise CheckError(f"{' '.join(command)}: {done.stdout.strip()}")


def _digest(folder):
  """Digest of a program's sources."""
  digest = hashlib.sha256()
  for parent, folders, names in os.walk(folder):
    folders.sort()
    for name in sorted(names):
      with open(os.path.join(parent, name), "rb") as f:
        digest.update(name.encode() + b"\0" + f.read())
  return digest.hexdigest()[:16]


def _cache():
  base = os.environ.get("XDG_CACHE_HOME") or os.path.join(_home(), ".cache")
  folder = os.path.join(base, "kamino")
  try:
    os.makedirs(folder, exist_ok=True)
    if os.access(folder, os.W_OK):
      return folder
  except OSError:
    pass
  return os.environ["TEST_TMPDIR"]


def program(language):
  """Path of a checker, built if need be."""
  name, build = PROGRAMS[language]
  source = os.path.realpath(os.path.join(HERE, name))
  target = os.path.join(_cache(), f"{name}-{_digest(source)}")
  with open(target + ".lock", "w", encoding="ascii") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    if not os.access(target, os.X_OK):
      build(source, target + ".new")
      os.rename(target + ".new", target)
  return target


def check(workload, history):
  """A checker's report about a history file, a dict.

  "valid" is "true", "false" or "unknown". Raises when it cannot be checked.
  """
  if workload == "lists":
    command = [program("rust"), history]
  else:
    command = [program("go"), workload, history]
  try:
    done = subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False,
                          timeout=TIMEOUT_S)
  except subprocess.TimeoutExpired as error:
    raise CheckError(f"{history}: no answer within {TIMEOUT_S} s") from error
  try:
    report = json.loads(done.stdout)
  except ValueError as error:
    raise CheckError(f"{history}: {done.stderr.strip()}") from error
  if (done.returncode == 0) != (report["valid"] == "true"):
    raise CheckError(f"{history}: exit {done.returncode}, but {report}")
  return report


def main():
  argparse.ArgumentParser(
      description=__doc__,
      formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
  try:
    for language in PROGRAMS:
      program(language)
    return 0
  except CheckError as error:
    print(f"checkers: {error}", file=sys.stderr)
    return 1


if __name__ == "__main__":
  sys.exit(main())
