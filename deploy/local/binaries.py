"""Where the built programs are."""

import os

PROGRAMS = {
    "bank_client": "client/examples/bank_client",
    "kamino": "client/cli/kamino",
    "kamino_check": "node/check/kamino_check",
    "kamino_manager": "membership/kamino_manager",
    "kamino_node": "node/kamino_node",
}


class Binaries:
  """The programs of a checkout, or those of KAMINO_BIN_ROOT."""

  def __init__(self):
    self.root = os.path.abspath(
        os.environ.get("KAMINO_BIN_ROOT") or os.path.join(
            os.path.dirname(os.path.realpath(__file__)), "..", "..",
            "bazel-bin"))

  def path(self, name):
    """Path of a program; None when it is not there."""
    path = os.path.join(self.root, PROGRAMS[name])
    return path if os.access(path, os.X_OK) else None
