"""The operator's acts, as docs/operate/operations.md describes them."""

import os
import re

# Last lines of nodes that refuse the files they were started with (the table at
# the end of docs/operate/operations.md): the operator moves the files away, and
# the nodes join anew.
OLD_COPY = ("is on an old copy of its data",
            "its heap holds data of view")
MIXED = ("is older than", "are not of one node any more",
         "is within an entry", "which is within")
DAMAGED = ("damaged", "not a Kamino", "format is version",
           "has format version", "truncated", "was made with", "lost entries",
           "belongs to another heap", "is another heap's", "of another kind",
           "checksum")
OTHERWISE = ("the result of mutation", "diverged", "but the ring ends with",
             "cannot read")
CHANGED = ("bits of what this node holds have changed",)
# A member that is set up otherwise: it is started as the others are.
UNALIKE = ("must have it in common", "but --heap_mb says", "but --ring_mb says",
           "belongs to", "this is the manager of cluster", "of one chain are")
BEHIND = "the views stored at etcd are not the newest"
PLAN = re.compile(r"the chain would go on in view (\d+) with (.*)")
ALL_HELD = "all that was acknowledged"


class Operator:
  """Looks after a cluster. Not thread-safe."""

  def __init__(self, cluster):
    self.cluster = cluster
    self._may_end = {}  # name to texts, one of which its log is to say
    self.acts = []  # what was done, one line each

  def expect(self, ends):
    self._may_end.update(ends)

  def forget(self):
    """From now on no node is expected to end, except for corrupted bits: the
    scrub finds each in the end, though a node may serve before."""
    self._may_end = {name: CHANGED for name, texts in self._may_end.items()
                     if set(CHANGED) <= set(texts)}

  def attend(self):
    """Restarts nodes that ended as expected; returns the others that ended."""
    strange = []
    for name in self.cluster.unexpected_ends():
      said = self.cluster.last_words(name)
      if self._is_expected(name, said):
        self.acts.append(f"{name} joins anew: {said.splitlines()[-1]}")
        self.cluster.crash(name)
        self.cluster.lose_data(name)
        self.cluster.revive(name)
        # Its bits are others now.
        self._may_end[name] = tuple(text for text in self._may_end[name]
                                    if text not in CHANGED)
      else:
        strange.append(name)
    return strange

  def _is_expected(self, name, said):
    return any(text in said for text in self._may_end.get(name, ()))

  def expected_ends(self):
    """Nodes that ended as expected and that attend() has not restarted yet."""
    return [name for name in self.cluster.unexpected_ends()
            if self._is_expected(name, self.cluster.last_words(name))]

  def _admin(self, *words):
    managers = self.cluster.addresses_of(self.cluster.managers)
    return self.cluster.kamino(
        "admin", *words, f"--managers={','.join(managers)}", "--timeout=5s",
        check=False)

  def says_behind(self):
    """Whether the manager that leads says that etcd is behind its nodes."""
    return BEHIND in self._admin("status").stdout

  def recover(self):
    """Whether the chain was told to go on with all that was acknowledged."""
    plan = self._admin("recover").stdout
    if not PLAN.search(plan) or ALL_HELD not in plan:
      return False  # not yet: a lease runs, or a node is awaited
    done = self._admin("recover", "--confirm")
    if done.returncode == 0:
      self.acts.append(done.stdout.strip().splitlines()[-1])
    return done.returncode == 0

  def status(self):
    """The status, from the leader."""
    done = self._admin("status")
    return done.stdout + done.stderr

  def whom_it_waits_for(self):
    """What the chain waits for, according to the manager; "": nothing."""
    return "\n".join(line for line in self.status().splitlines()
                     if "waits for" in line or "forms once" in line)


def log_since(path, offset):
  """The text that was written to a log after `offset`."""
  try:
    with open(path, "rb") as log:
      log.seek(min(offset, os.path.getsize(path)))
      return log.read().decode("utf-8", errors="replace")
  except OSError:
    return ""
