"""One virtual machine: soft-RoCE, an NVDIMM, a whole chain inside."""

import os

from machine import Machine, VmError, make_nvdimm

MEMORY_MB = 1024
NVDIMM_MB = 768
POOL = "/tmp/vm/pmem"  # where the NVDIMM's file system is mounted
CHAIN_TIMEOUT_S = 240.0


class SingleVm:
  """The parts, in order.

  Args:
    folder: for the NVDIMM and the console's log.
    image: an Image.
    programs: the folder that holds the built programs.
    report: a Report.
  """

  def __init__(self, folder, image, programs, report):
    self._nvdimm = os.path.join(folder, "single.nvdimm")
    make_nvdimm(self._nvdimm, NVDIMM_MB)
    self._machine = Machine("single", folder, image, MEMORY_MB, self._nvdimm)
    self._programs = programs
    self._report = report

  def run(self):
    try:
      if not self._report.part("boot", self._boot):
        return
      if self._report.part("soft-RoCE device", self._rdma):
        self._report.part("perftest", self._perftest)
      if self._report.part("NVDIMM, fsdax", self._fsdax):
        self._report.part("chain, tcp", lambda: self._chain("tcp"))
    finally:
      self._machine.cut_power()
      os.unlink(self._nvdimm)

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

  def _chain(self, transport):
    self._machine.run(
        "env", f"KAMINO_BIN_ROOT={self._programs}", "python3", "-B",
        self._machine.script("chain.py"), POOL, transport,
        timeout=CHAIN_TIMEOUT_S)
    return "4 nodes on the NVDIMM; tail and head killed under load"
