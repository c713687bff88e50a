"""A Debian with systemd in a container, made of Debian's packages."""

import hashlib
import os
import pwd
import signal
import subprocess
import time

SUITE = "bookworm"
BOOT_S = 60
COMMAND_S = 120


class MachineError(Exception):
  """The machine is not as a test needs it; one line."""


def run(*words, check=True, timeout=COMMAND_S, **kwargs):
  done = subprocess.run(words, stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT, text=True, check=False,
                        timeout=timeout, **kwargs)
  if check and done.returncode != 0:
    raise MachineError(f"{' '.join(words)}: exit {done.returncode}\n"
                       f"{done.stdout.strip()}")
  return done.stdout


def await_true(condition, timeout, what):
  deadline = time.monotonic() + timeout
  while not condition():
    if time.monotonic() > deadline:
      raise MachineError(f"waited {timeout:g} s for {what}")
    time.sleep(0.2)


def base(packages):
  """An archive of a system with these packages, made once."""
  home = os.environ.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir
  folder = os.path.join(home, ".cache", "kamino-debian")
  os.makedirs(folder, exist_ok=True)
  digest = hashlib.sha256(" ".join(packages).encode()).hexdigest()[:16]
  path = os.path.join(folder, f"{SUITE}-{digest}.tar")
  if not os.path.exists(path):
    run("mmdebstrap", "--variant=minbase", "--include=" + ",".join(packages),
        SUITE, path + ".new.tar", timeout=1800)
    os.rename(path + ".new.tar", path)
  return path


class Machine:
  """Boots from an archive, in a folder of its own; it has no network."""

  def __init__(self, folder, archive):
    self.root = os.path.join(folder, "root")
    os.mkdir(self.root)
    run("tar", "--extract", f"--file={archive}", f"--directory={self.root}",
        "--numeric-owner", timeout=600)
    self.write("/etc/hosts", "127.0.0.1 localhost\n")
    self._container = None
    self._init = None

  def path(self, name):
    """Outside, of a file inside."""
    return os.path.join(self.root, name.lstrip("/"))

  def write(self, name, text):
    with open(self.path(name), "w", encoding="utf-8") as f:
      f.write(text)

  def boot(self):
    with open(self.root + ".log", "wb") as log:
      self._container = subprocess.Popen(
          ["systemd-nspawn", "--quiet", "--register=no", "--keep-unit",
           "--private-network", "--console=pipe", f"--directory={self.root}",
           "--boot"], stdin=subprocess.DEVNULL, stdout=log,
          stderr=subprocess.STDOUT)
    await_true(self._booted, BOOT_S, f"{self.root} to boot")

  def _booted(self):
    if self._container.poll() is not None:
      raise MachineError(f"the container ended; its log is {self.root}.log")
    if self._init is None:
      children = run("pgrep", "--parent", str(self._container.pid),
                     check=False).split()
      if not children:
        return False
      self._init = children[0]
    state = self.run("systemctl", "is-system-running", check=False).strip()
    return state in ("running", "degraded")

  def run(self, *words, **kwargs):
    """A command inside; its output."""
    return run("nsenter", f"--target={self._init}", "--mount", "--uts", "--ipc",
               "--net", "--pid", "--cgroup", "env", "-i",
               "PATH=/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin",
               "HOME=/root", "DEBIAN_FRONTEND=noninteractive", *words,
               **kwargs)

  def stop(self):
    """Stops at once; its programs end with its first process."""
    if self._container is None:
      return
    if self._init is not None:
      os.kill(int(self._init), signal.SIGKILL)
    else:
      self._container.kill()
    self._container.wait(BOOT_S)
