#!/usr/bin/env python3
"""Builds what a Kubernetes cluster is run by, once, into a cache folder.

Kubernetes itself, Helm, CoreDNS and kwok are Go programs; the toolchain fetches
their sources, pinned by go.sum. It takes a quarter of an hour on two
processors.
"""

import argparse
import fcntl
import hashlib
import os
import pwd
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
SOURCES = os.path.join(HERE, "programs")
VERSION = "1.34.4"  # of Kubernetes, as in go.mod; a test compares them
GO_FOLDERS = ("/usr/lib/go/bin", "/usr/local/go/bin")

# For each module: program to package.
MODULES = {
    "kubernetes": {
        "coredns": "./coredns",
        "helm": "helm.sh/helm/v4/cmd/helm",
        **{name: f"k8s.io/kubernetes/cmd/{name}" for name in (
            "kube-apiserver", "kube-controller-manager", "kube-proxy",
            "kube-scheduler", "kubectl", "kubelet")},
    },
    "kwok": {"kwok": "sigs.k8s.io/kwok/cmd/kwok"},
}


class BuildError(Exception):
  """A program could not be built; one line."""


def _home():
  return os.environ.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir


def _go():
  for path in [shutil.which("go"), *[f"{f}/go" for f in GO_FOLDERS]]:
    if path and os.access(path, os.X_OK):
      return path
  raise BuildError("go is missing; run deploy/install-packages")


def _digest():
  """Digest of the sources and of their build."""
  digest = hashlib.sha256()
  for parent, folders, names in os.walk(SOURCES):
    folders.sort()
    for name in sorted(names):
      with open(os.path.join(parent, name), "rb") as f:
        digest.update(name.encode() + b"\0" + f.read())
  with open(__file__, "rb") as f:
    digest.update(f.read())
  return digest.hexdigest()[:16]


def _build(module, package, target):
  major, minor, _ = VERSION.split(".")
  where = "k8s.io/component-base/version"
  flags = (f"-s -w -X {where}.gitVersion=v{VERSION} "
           f"-X {where}.gitMajor={major} -X {where}.gitMinor={minor}")
  done = subprocess.run(
      ["nice", "-n", "15", _go(), "build", "-trimpath", f"-ldflags={flags}",
       "-o", target + ".new", package], cwd=os.path.join(SOURCES, module),
      env={**os.environ, "HOME": _home(), "CGO_ENABLED": "0"},
      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
  if done.returncode != 0:
    lines = done.stdout.strip().splitlines() or ["no reason given"]
    raise BuildError(f"{package}: {lines[-1]}")
  os.rename(target + ".new", target)


def folder(say=lambda line: None):
  """Where all the programs are, built if need be."""
  base = os.environ.get("XDG_CACHE_HOME") or os.path.join(_home(), ".cache")
  place = os.path.join(base, "kamino-kubernetes", _digest())
  os.makedirs(place, exist_ok=True)
  with open(os.path.join(place, ".lock"), "w", encoding="ascii") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    for module, programs in MODULES.items():
      for name, package in programs.items():
        target = os.path.join(place, name)
        if not os.access(target, os.X_OK):
          say(f"building {name}")
          _build(module, package, target)
  return place


def main():
  argparse.ArgumentParser(
      description=__doc__,
      formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
  try:
    print(folder(lambda line: print(line, flush=True)))
    return 0
  except BuildError as error:
    print(f"programs: {error}", file=sys.stderr)
    return 1


if __name__ == "__main__":
  sys.exit(main())
