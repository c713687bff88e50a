"""One virtual machine: a QEMU process and the agent inside it.

Never with KVM: where the host is a virtual machine itself, it may hang.
"""

import itertools
import json
import os
import shutil
import subprocess
import threading
import time

from image import CannotRun
from processes import TIME_SCALE, patience, time_scale

QEMU = "qemu-system-x86_64"
GUEST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "guest")
BOOT_TIMEOUT_S = 600.0
ANSWER_SLACK_S = 15.0  # what an answer may take beyond the command's time
# Seconds of the host, at most, for one of a machine whose clock counts
# instructions: alone it needs about one.
COUNTED_SECOND_S = 10
LIFE_S = 3600.0  # then the machine is ended, whatever it does
LABEL_KB = 128  # of an NVDIMM: where its namespaces are described
ALIGN_MB = 16  # of an NVDIMM without its labels


class VmError(Exception):
  """A machine or a command in it failed."""


def check_host(memory_mb):
  """Raises CannotRun unless this host can run machines of so much memory."""
  for program, package in ((QEMU, "qemu-system-x86"),
                           ("setpriv", "util-linux")):
    if shutil.which(program) is None:
      raise CannotRun(f"{package} is missing; run deploy/install-packages")
  if os.uname().machine != "x86_64":
    raise CannotRun(f"the host is {os.uname().machine}, not x86_64")
  with open("/proc/meminfo", encoding="ascii") as f:
    facts = dict(line.split(":") for line in f)
  free_mb = int(facts["MemAvailable"].split()[0]) >> 10
  if free_mb < memory_mb:
    raise CannotRun(f"{free_mb} MiB of memory are free, {memory_mb} needed")


def make_nvdimm(path, megabytes):
  """The file that an emulated NVDIMM keeps its contents in."""
  if megabytes % ALIGN_MB:
    raise ValueError(f"{megabytes} MiB are not a multiple of {ALIGN_MB}")
  with open(path, "wb") as f:
    f.truncate((megabytes << 20) + (LABEL_KB << 10))


class Job:
  """A command that runs in a machine."""

  def __init__(self, machine, words, timeout):
    self._machine = machine
    self._words = words
    self._timeout = timeout
    self.answer = None  # set by the machine's reader, under its condition

  def wait(self, check=True):
    """Exit code and output."""
    self._machine.await_answer(self, self._timeout)
    code, output = self.answer["code"], self.answer["output"]
    if check and code != 0:
      raise VmError(f"{self._machine.name}: {' '.join(self._words)}: exit "
                    f"{code}:\n{output.strip()}")
    return code, output

  def done(self):
    return self.answer is not None


class Machine:
  """A virtual machine that shares the host's root, read-only.

  Args:
    name: for messages and files.
    folder: where the console's log goes.
    image: an Image.
    memory_mb: of the machine, NVDIMM apart.
    nvdimm: a file of make_nvdimm(), or None.
    network: QEMU's words for a network device, or none.
    counted: its clock counts the instructions that it has executed, while it
        executes any. A busy host makes such a machine slow, but no timeout in
        it ends sooner. It has one processor: QEMU (7.2) does not bring up more
        with such a clock. Not for machines that grant each other leases: their
        clocks differ.
  """

  def __init__(self, name, folder, image, memory_mb=1024, nvdimm=None,
               network=(), counted=False):
    self.name = name
    self.console = os.path.join(folder, f"{name}.console")
    self._command = self._arguments(image, memory_mb, nvdimm, network,
                                    counted)
    self._host_seconds = COUNTED_SECOND_S if counted else 1
    self._qemu = None
    self._reader = None
    self._watchdog = None
    self._changed = threading.Condition()
    self._jobs = {}  # guarded by _changed, as _ended
    self._ended = True
    self._ids = itertools.count(1)

  @staticmethod
  def _processors(counted):
    if counted:  # a nanosecond for each instruction
      return ["-accel", "tcg,thread=single", "-icount", "shift=0", "-smp", "1"]
    return ["-accel", "tcg,thread=multi", "-smp", "2"]

  def _arguments(self, image, memory_mb, nvdimm, network, counted):
    words = [
        # Whatever ends this process, ends the machine.
        "setpriv", "--pdeathsig", "KILL", QEMU,
        *self._processors(counted), "-cpu", "max",
        "-m", f"{memory_mb}M,slots=2,maxmem={memory_mb + 4096}M",
        "-machine", "q35,nvdimm=on", "-nodefaults", "-no-user-config",
        "-no-reboot", "-display", "none", "-monitor", "none",
        "-kernel", image.kernel, "-initrd", image.initramfs, "-append",
        # A busy host must not look like a broken timer.
        "console=ttyS0 quiet loglevel=4 panic=-1 no_timer_check "
        # It is the host's, and reading any other clock is a system call.
        "tsc=reliable "
        # Mitigations would make an emulated machine slower still.
        f"mitigations=off KAMINO_GUEST={GUEST}",
        "-chardev", f"file,id=console,path={self.console},append=on",
        "-serial", "chardev:console",
        "-chardev", "stdio,id=agent,signal=off", "-device",
        "virtio-serial-pci", "-device", "virtserialport,chardev=agent",
        "-object", "rng-random,id=rng,filename=/dev/urandom", "-device",
        "virtio-rng-pci,rng=rng", "-virtfs",
        "local,path=/,mount_tag=host,security_model=none,readonly=on,"
        "multidevs=remap", *network]
    if nvdimm is not None:
      words += [
          "-object", f"memory-backend-file,id=nvdimm,share=on,"
          f"mem-path={nvdimm},size={os.path.getsize(nvdimm)}",
          "-device", f"nvdimm,memdev=nvdimm,label-size={LABEL_KB}K"]
    return words

  # --- Life.

  def boot(self):
    """Starts the machine and waits for its agent; returns seconds."""
    began = time.monotonic()
    self.start()
    self.await_agent()
    return time.monotonic() - began

  def start(self):
    """Call it from the main thread: the machine dies with the caller's."""
    assert self._qemu is None
    with open(self.console, "ab") as log:
      self._qemu = subprocess.Popen(
          self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
          stderr=log)
    self._ended = False
    self._ready = Job(self, ["boot"], patience(BOOT_TIMEOUT_S))
    self._jobs = {0: self._ready}
    self._reader = threading.Thread(
        target=self._read, args=(self._qemu.stdout,), daemon=True)
    self._reader.start()
    self._watchdog = threading.Timer(patience(LIFE_S), self._qemu.kill)
    self._watchdog.daemon = True
    self._watchdog.start()

  def await_agent(self):
    self._ready.wait()

  def cut_power(self):
    """Ends it at once, as if its cable had been pulled."""
    if self._qemu is None:
      return
    self._watchdog.cancel()
    self._qemu.kill()
    self._qemu.wait()
    self._reader.join()
    self._qemu.stdin.close()
    self._qemu.stdout.close()
    self._qemu = None

  # --- Commands.

  def job(self, *words, timeout=60.0):
    """Starts a command inside, which has patience(timeout); its Job."""
    timeout = patience(timeout)
    job = Job(self, words, timeout)
    number = next(self._ids)
    argv = [*self._environment(), *words]
    request = {"id": number, "argv": argv, "timeout": timeout}
    with self._changed:
      if self._ended:
        raise VmError(f"{self.name} does not run")
      self._jobs[number] = job
    try:
      self._qemu.stdin.write(json.dumps(request).encode() + b"\n")
      self._qemu.stdin.flush()
    except OSError as error:
      raise VmError(f"{self.name} has ended") from error
    return job

  @staticmethod
  def _environment():
    """The environment of commands inside."""
    scale = time_scale()
    return [] if scale == 1 else ["env", f"{TIME_SCALE}={scale:g}"]

  def run(self, *words, timeout=60.0, check=True):
    """Runs a command inside; exit code and output."""
    return self.job(*words, timeout=timeout).wait(check)

  def guest(self, script, *words, timeout=60.0):
    """Runs one of the guest's scripts that need no more; its output."""
    program = ["python3", "-B"] if script.endswith(".py") else ["sh"]
    return self.run(*program, self.script(script), *words, timeout=timeout)[1]

  def await_lines(self, path, count, timeout):
    """The first lines of a file in there, once it has so many."""
    words = f"tail -n +1 -F {path} 2>/dev/null | head -n {count}"
    return self.run("sh", "-c", words, timeout=timeout)[1].splitlines()

  def script(self, name):
    """Where one of the guest's scripts is, here and in there."""
    return os.path.join(GUEST, name)

  def await_answer(self, job, timeout):
    """Waits for the answer to a command that ends after `timeout` in there."""
    seconds = (timeout + ANSWER_SLACK_S) * self._host_seconds
    with self._changed:
      self._changed.wait_for(
          lambda: job.answer is not None or self._ended, seconds)
      if job.answer is None:
        raise VmError(f"{self.name} " + (
            "ended" if self._ended else f"gave no answer in {seconds:g} s"))

  def _read(self, stream):
    for line in stream:
      try:
        answer = json.loads(line)
      except ValueError:
        continue  # cut off by the machine's end
      with self._changed:
        self._jobs.pop(answer["id"]).answer = answer
        self._changed.notify_all()
    with self._changed:
      self._ended = True
      self._changed.notify_all()
