"""What a virtual machine boots: Debian's kernel, an initramfs of its modules.

The kernel's package is downloaded, not installed: it stays out of /boot. What
is taken from it is kept in a cache, so that this happens once.
"""

import gzip
import hashlib
import os
import pwd
import re
import shutil
import stat
import subprocess
import tempfile

KERNEL = "linux-image-amd64"  # names the package of the kernel itself
BUSYBOX = "/bin/busybox"
KEPT_IMAGES = 2

MODULES = [
    "virtio_pci", "virtio_console", "virtio_net", "9p", "9pnet_virtio",
    "overlay",
    # soft-RoCE and ext4 request these by name when they are used.
    "crc32_generic", "crc32c_generic",
    "veth", "ib_uverbs", "rdma_ucm", "rdma_rxe",
    "nfit", "nd_pmem", "dax_pmem", "device_dax", "ext4",
]


class CannotRun(Exception):
  """This machine cannot run virtual machines; one line that says why."""


def _call(*words, **kwargs):
  done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                        text=True, check=False, **kwargs)
  if done.returncode != 0:
    lines = done.stdout.strip().splitlines() or ["no reason given"]
    raise CannotRun(f"{' '.join(words[:2])}: {lines[-1]}")
  return done.stdout


def _name(module):
  return module.replace("-", "_")


def _dependencies(path):
  """Modules that a module file needs, as its own section says."""
  with open(path, "rb") as f:
    found = re.search(rb"\0depends=([^\0]*)\0", f.read())
  if not found:
    return []
  return [_name(m) for m in found.group(1).decode("ascii").split(",") if m]


def load_order(folder, wanted):
  """Paths of the modules and all they need, dependencies first.

  Of a wanted name that is no module file nothing is listed: it may be built
  into the kernel. Whether it works shows when it is used.
  """
  files = {}
  for where, _, names in os.walk(folder):
    for name in names:
      if name.endswith(".ko"):
        files[_name(name[:-len(".ko")])] = os.path.join(where, name)
  if not files:
    raise CannotRun(f"the kernel's package has no modules in {folder}")
  order = []
  def add(module):
    path = files.get(module)
    if path is None or path in order:
      return
    for needed in _dependencies(path):
      add(needed)
    order.append(path)
  for module in wanted:
    add(module)
  return order


class Archive:
  """An initramfs in the making: cpio's "newc" format."""

  def __init__(self):
    self._parts = []
    self._count = 0

  def _entry(self, name, mode, data=b""):
    self._count += 1
    encoded = name.encode("ascii") + b"\0"
    fields = (self._count, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0,
              len(encoded), 0)
    head = b"070701" + b"".join(b"%08x" % field for field in fields) + encoded
    for part in (head, data):
      self._parts.append(part + b"\0" * (-len(part) % 4))

  def folder(self, name):
    self._entry(name, stat.S_IFDIR | 0o755)

  def file(self, name, data):
    self._entry(name, stat.S_IFREG | 0o755, data)

  def compressed(self):
    self._entry("TRAILER!!!", 0)
    return gzip.compress(b"".join(self._parts), compresslevel=1)


def _read(path):
  with open(path, "rb") as f:
    return f.read()


def _modules_archive(paths):
  archive = Archive()
  archive.folder("mod")
  for path in paths:
    archive.file(f"mod/{os.path.basename(path)}", _read(path))
  order = "".join(f"{os.path.basename(path)}\n" for path in paths)
  archive.file("mod/order", order.encode("ascii"))
  return archive.compressed()


def _programs_archive(init):
  archive = Archive()
  for folder in ("bin", "dev", "proc", "sys", "host", "top", "root"):
    archive.folder(folder)
  if not os.access(BUSYBOX, os.X_OK):
    raise CannotRun("busybox-static is missing; run deploy/install-packages")
  archive.file("bin/busybox", _read(BUSYBOX))
  archive.file("init", _read(init))
  return archive.compressed()


def _kernel_package():
  text = _call("apt-cache", "depends", KERNEL)
  found = re.search(r"Depends: (linux-image-\S+)", text)
  if not found:
    raise CannotRun(f"{KERNEL} is unknown to apt; run apt-get update")
  return found.group(1)


def _unpack_kernel(package, folder):
  """Fills `folder` with vmlinuz and modules.gz."""
  with tempfile.TemporaryDirectory(dir=folder) as work:
    # apt's own user may not write there; as root it says so and goes on.
    _call("apt-get", "-q", "download", package, cwd=work)
    deb, = [name for name in os.listdir(work) if name.endswith(".deb")]
    _call("dpkg-deb", "--extract", deb, "tree", cwd=work)
    boot = os.path.join(work, "tree", "boot")
    kernel, = [n for n in os.listdir(boot) if n.startswith("vmlinuz-")]
    order = load_order(os.path.join(work, "tree", "lib", "modules"), MODULES)
    with open(os.path.join(folder, "modules.gz"), "wb") as f:
      f.write(_modules_archive(order))
    shutil.move(os.path.join(boot, kernel), os.path.join(folder, "vmlinuz"))


def _cache():
  home = pwd.getpwuid(os.getuid()).pw_dir  # tests have no HOME
  path = os.path.join(home, ".cache", "kamino-vm")
  os.makedirs(path, mode=0o700, exist_ok=True)
  return path


def _kernel(cache):
  """The folder with vmlinuz and modules.gz; made when it is not there."""
  package = _kernel_package()
  key = hashlib.sha256("\n".join([package, *MODULES]).encode()).hexdigest()
  kept = os.path.join(cache, f"{package}-{key[:12]}")
  if os.path.isdir(kept):
    os.utime(kept)
    return kept
  with tempfile.TemporaryDirectory(dir=cache) as made:
    folder = os.path.join(made, "kernel")
    os.mkdir(folder)
    _unpack_kernel(package, folder)
    try:
      os.rename(folder, kept)
    except OSError:
      if not os.path.isdir(kept):  # else another process was faster
        raise
  _drop_old(cache)
  return kept


def _drop_old(cache):
  images = [os.path.join(cache, name) for name in os.listdir(cache)
            if name.startswith("linux-image-")]
  for path in sorted(images, key=os.path.getmtime)[:-KEPT_IMAGES]:
    shutil.rmtree(path, ignore_errors=True)


class Image:
  """Paths of a kernel and an initramfs.

  Args:
    folder: where the initramfs is put.
    init: the script that the kernel starts.

  Raises:
    CannotRun: a package is missing and cannot be had.
  """

  def __init__(self, folder, init):
    try:
      kernel = _kernel(_cache())
    except OSError as error:
      raise CannotRun(f"{error.filename}: {error.strerror}") from error
    self.kernel = os.path.join(kernel, "vmlinuz")
    self.initramfs = os.path.join(folder, "initramfs.gz")
    with open(self.initramfs, "wb") as f:
      # The kernel unpacks one archive after the other.
      f.write(_programs_archive(init))
      f.write(_read(os.path.join(kernel, "modules.gz")))
