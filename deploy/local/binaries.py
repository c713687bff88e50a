"""Where the built programs are."""

import os
import tempfile

PROGRAMS = {
    "kamino": "client/cli/kamino",
    "kamino_manager": "membership/kamino_manager",
    "kamino_node": "head/kamino_node",
}


def find_binaries():
  """A folder with links to all programs, of a checkout or a test's runfiles."""
  root = os.environ.get("KAMINO_BIN_ROOT") or os.path.join(
      os.path.dirname(os.path.realpath(__file__)), "..", "..", "bazel-bin")
  root = os.path.realpath(root)
  folder = os.path.join(tempfile.gettempdir(), f"kamino-bin-{os.getuid()}",
                        root.strip("/").replace("/", "-")[-80:])
  os.makedirs(folder, exist_ok=True)
  for name, path in PROGRAMS.items():
    link = os.path.join(folder, name)
    target = os.path.join(root, path)
    if os.path.islink(link) and os.readlink(link) == target:
      continue
    temporary = f"{link}.{os.getpid()}"
    os.symlink(target, temporary)
    os.rename(temporary, link)
  return folder
