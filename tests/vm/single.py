"""One virtual machine: soft-RoCE, an NVDIMM, whole chains inside."""

import os

from machine import Machine, VmError, make_nvdimm

MEMORY_MB = 1024
NVDIMM_MB = 1024
POOL = "/tmp/vm/pmem"  # where the NVDIMM's file system is mounted
SUITE_TIMEOUT_S = 180.0
CHAIN_TIMEOUT_S = 300.0
ENOUGH_ACKED = 100  # transfers before the power is cut


class SingleVm:
  """The parts, in order.

  Args:
    folder: for the NVDIMM and the console's log.
    image: an Image.
    programs: the folder that holds the built programs.
    report: a Report.
    brief: leaves out the chain over tcp, which other tests have as well.
  """

  def __init__(self, folder, image, programs, report, brief=False):
    self._nvdimm = os.path.join(folder, "single.nvdimm")
    make_nvdimm(self._nvdimm, NVDIMM_MB)
    self._machine = Machine("single", folder, image, MEMORY_MB, self._nvdimm)
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
        part("perftest", self._perftest)
        part("verbs: keys, errors", self._verbs_device)
        part("verbs: link suite", self._link_suite)
      if part("NVDIMM, fsdax", self._fsdax):
        if rdma:
          part("chain, verbs", lambda: self._chain("verbs"))
        if not self._brief:
          part("chain, tcp", lambda: self._chain("tcp"))
        part("loss of power", self._power)
    finally:
      self._machine.cut_power()
      os.unlink(self._nvdimm)

  # --- Devices.

  def _boot(self):
    self._machine.boot()
    return "Linux " + self._machine.run("uname", "-r")[1].strip()

  def _rdma(self):
    state = self._machine.guest("rdma.sh").split()
    if "ACTIVE" not in state:
      raise VmError(f"rxe0 is not active: {' '.join(state)}")
    return "rxe0 is active"

  def _perftest(self):
    lines = self._machine.guest("perftest.sh", timeout=200.0).splitlines()
    return ", ".join(f"{line} us" for line in lines)

  def _fsdax(self):
    return self._machine.guest("pmem.sh", "fsdax", POOL).strip()

  # --- The link.

  def _verbs_device(self):
    return self._tests("verbs_device_test")

  def _link_suite(self):
    return self._tests("link_test", "--gtest_filter=*/verbs")

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

  def _chain(self, transport):
    self._machine.run(*self._python("chain.py", transport),
                      timeout=CHAIN_TIMEOUT_S)
    return "4 nodes on the NVDIMM; tail and head killed under load"

  def _power(self):
    load = self._machine.job(*self._python("power.py", "run"),
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
    _, output = self._machine.run(
        *self._python("power.py", "check", str(version)),
        timeout=CHAIN_TIMEOUT_S)
    return f"4 nodes, etcd, the manager: {output.strip()}"
