"""One virtual machine: soft-RoCE, an NVDIMM, whole chains inside."""

import os

from machine import Machine, VmError, make_nvdimm

MEMORY_MB = 1024
FILES_MB, DEVICE_MB = 768, 112  # parts of the NVDIMM
NODES = ("n1", "n2", "n3", "n4")
NVDIMM_MB = FILES_MB + len(NODES) * DEVICE_MB
POOL = "/tmp/vm/pmem"  # where the NVDIMM's file system is mounted
DEVICES = "/tmp/vm/dax"  # links to its devices
SUITE_TIMEOUT_S = 900.0
CHAIN_TIMEOUT_S = 1500.0
LATENCY_TIMEOUT_S = 900.0
LATENCY_ROUNDS = 7
ENOUGH_ACKED = 100  # transfers before the power is cut


class SingleVm:
  """The parts, in order.

  Args:
    folder: for the NVDIMM and the console's log.
    image: an Image.
    programs: the folder that holds the built programs.
    report: a Report.
    brief: measures no latency, but shows that the tools and a link work, and
        leaves out the chain over verbs on devices.
  """

  def __init__(self, folder, image, programs, report, brief=False):
    self._folder, self._image = folder, image
    self._nvdimm = os.path.join(folder, "single.nvdimm")
    make_nvdimm(self._nvdimm, NVDIMM_MB)
    # A busy host must not make the timeouts of its chains end.
    self._machine = Machine("single", folder, image, MEMORY_MB, self._nvdimm,
                            counted=True)
    self._programs = programs
    self._report = report
    self._brief = brief

  def run(self):
    part = self._report.part
    try:
      if not part("boot", self._boot):
        return
      rdma = part("soft-RoCE device", self._rdma)
      if rdma:
        part("latency", self._latency)
        part("verbs: keys, errors", self._verbs_device)
        part("verbs: link suite", self._link_suite)
      if part("NVDIMM, fsdax", self._fsdax):
        if rdma:
          part("chain, verbs", lambda: self._chain("verbs"))
          part("sessions, verbs", self._sessions)
          part("device, port go away", self._unplug)
        part("loss of power", self._power)
      if part("NVDIMM, devdax", self._devdax):
        # The machine has been booted again, without its soft-RoCE device.
        if self._brief:
          self._report.left_out("chain, verbs, devdax", "by --brief")
        elif rdma and part("soft-RoCE device, again", self._rdma):
          part("chain, verbs, devdax", lambda: self._chain("verbs", DEVICES))
        part("loss of power, devdax", lambda: self._power(DEVICES))
    finally:
      self._machine.cut_power()
      os.unlink(self._nvdimm)

  # --- Devices.

  def _boot(self):
    self._machine.boot()
    return "Linux " + self._machine.run("uname", "-r")[1].strip()

  def _rdma(self):
    return self._rdma_of(self._machine)

  @staticmethod
  def _rdma_of(machine):
    state = machine.guest("rdma.sh").split()
    if "ACTIVE" not in state:
      raise VmError(f"rxe0 is not active: {' '.join(state)}")
    return "rxe0 is active"

  def _latency(self):
    if self._brief:
      self._measure(self._machine, 1)
      return "perftest and a link work; both ends share a processor: no times"
    # Both ends poll, so each needs a processor.
    machine = Machine("latency", self._folder, self._image, MEMORY_MB)
    try:
      machine.boot()
      self._rdma_of(machine)
      return self._measure(machine, LATENCY_ROUNDS)
    finally:
      machine.cut_power()

  def _measure(self, machine, rounds):
    output = machine.guest("latency.py", str(rounds), self._programs,
                           timeout=LATENCY_TIMEOUT_S)
    return output.splitlines()[-1]

  def _fsdax(self):
    return self._machine.guest("pmem.py", "fsdax", POOL,
                               str(FILES_MB)).strip()

  def _devdax(self):
    made = self._machine.guest("pmem.py", "devdax", str(DEVICE_MB), *NODES)
    return "; ".join(made.strip().splitlines())

  # --- The link.

  def _verbs_device(self):
    return self._tests("verbs_device_test")

  def _link_suite(self):
    return self._tests("link_test",
                       "--gtest_filter=*/verbs:*/verbsSends")

  def _tests(self, name, *flags):
    """Runs a program of GoogleTest over rxe0; how many tests passed."""
    _, output = self._machine.run(
        "env", "KAMINO_VERBS_DEVICE=rxe0", "TEST_TMPDIR=/tmp/vm",
        f"{self._programs}/tests/transport/{name}", *flags,
        timeout=SUITE_TIMEOUT_S)
    passed = [line for line in output.splitlines() if "[  PASSED  ]" in line]
    if len(passed) != 1 or "] 0 tests" in passed[0]:
      raise VmError(f"{name} ran no tests")
    return passed[0].split("]")[1].strip(" .") + " on rxe0"

  # --- Chains.

  def _python(self, script, *words):
    return ["env", f"KAMINO_BIN_ROOT={self._programs}", "python3", "-B",
            self._machine.script(script), POOL, *words]

  def _chain(self, transport, *devices):
    self._machine.run(*self._python("chain.py", transport, *devices),
                      timeout=CHAIN_TIMEOUT_S)
    return "4 nodes on the NVDIMM; tail and head killed under load"

  def _sessions(self):
    _, output = self._machine.run(*self._python("sessions.py"),
                                  timeout=CHAIN_TIMEOUT_S)
    line, = (line for line in output.splitlines() if "was killed" in line)
    return f"a load, gets and puts; {line}"

  def _unplug(self):
    _, output = self._machine.run(*self._python("unplug.py"),
                                  timeout=CHAIN_TIMEOUT_S)
    lines = [line for line in output.splitlines() if "transfers before" in line]
    return "; ".join(lines)

  def _power(self, *devices):
    if devices:  # which an earlier part's nodes had
      self._machine.guest("pmem.py", "clear", *NODES)
    load = self._machine.job(*self._python("power.py", "run", *devices),
                             timeout=CHAIN_TIMEOUT_S)
    acked = self._machine.await_lines(f"{POOL}/power/acked.log", ENOUGH_ACKED,
                                      CHAIN_TIMEOUT_S)
    if load.done():
      load.wait()
      raise VmError("the load ended before the power was cut")
    version = max(int(line.split()[3]) for line in acked)
    self._machine.cut_power()
    self._machine.boot()
    self._fsdax()
    if devices:
      self._devdax()
    _, output = self._machine.run(
        *self._python("power.py", "check", str(version)),
        timeout=CHAIN_TIMEOUT_S)
    return f"4 nodes, etcd, the manager: {output.strip()}"
