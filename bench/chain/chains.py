"""The chains of a race: one for each mode, all for the same failures."""

import json
import os
import re
import stat
import sys
from dataclasses import dataclass

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "service"))
# pylint: disable=wrong-import-position
from rig import Chain, ClusterError, Servers, needed_mb

LINKS = "shm"
CARRIER = "shm"
OWN_COPY = "head"  # who keeps an undo copy
ALL_COPIES = "all"
NO_COPY = "none"
LINK_WARM_UP = 500


@dataclass(frozen=True)
class Kind:
  """How a subject's nodes are started, and what the paper says it takes."""
  mode: str
  undo_copy: str
  spare: int   # nodes beyond the failures that it survives
  copies: str  # of the heap, of size alpha

  def nodes(self, failures):
    return failures + self.spare

  def storage(self, nodes, alpha):
    """Times the data: Table 1."""
    if self.undo_copy == "simple":
      alpha = 1.0
    return nodes + alpha * {OWN_COPY: 1, ALL_COPIES: nodes,
                            NO_COPY: 0}[self.copies]

  def formula(self):
    """The formula as text."""
    nodes = f"f+{self.spare}"
    alpha = "1" if self.undo_copy == "simple" else "α"
    return {OWN_COPY: f"{nodes}+{alpha}", ALL_COPIES: f"(1+{alpha})({nodes})",
            NO_COPY: nodes}[self.copies]


KINDS = {
    "kamino": Kind("kamino", "dynamic", 2, OWN_COPY),
    "kamino-simple": Kind("kamino", "simple", 2, OWN_COPY),
    "traditional-log": Kind("traditional", "log", 1, NO_COPY),
    "traditional-dynamic": Kind("traditional", "dynamic", 1, ALL_COPIES),
    "images": Kind("images", "dynamic", 1, OWN_COPY),
}
WORD = re.compile(rf"(?P<kind>{'|'.join(KINDS)})(@(?P<nodes>\d+))?")


def check_subject(word):
  """None, or what is wrong with it."""
  parts = WORD.fullmatch(word)
  if parts is None:
    return (f"'{word}' is none of {', '.join(KINDS)}, each with @NODES or "
            "without")
  if parts["nodes"] is not None and not 2 <= int(parts["nodes"]) <= 16:
    return f"'{word}': a chain has 2 to 16 nodes"
  return None


def kind_of(word):
  return KINDS[WORD.fullmatch(word)["kind"]]


def nodes_of(word, failures):
  return int(WORD.fullmatch(word)["nodes"] or kind_of(word).nodes(failures))


class ModeChain(Chain):
  """A cluster in one of the modes."""

  def __init__(self, folder, binaries, word, failures, delay_ns, settings):
    self.word, self.kind = word, kind_of(word)
    flags = [f"--chain_mode={self.kind.mode}", f"--alpha={settings.alpha}",
             f"--scrub_mb_per_s={settings.scrub_mb_per_s}"]
    if self.kind.copies == OWN_COPY:
      # Table 1 counts one copy; nodes would keep room for it, each of them.
      flags.append("--noreserve_undo_copy")
    if delay_ns:
      flags += [f"--pmem_delay_drain_ns={delay_ns}",
                f"--pmem_delay_line_ns={delay_ns}"]
    super().__init__(folder, binaries, LINKS, nodes_of(word, failures),
                     settings.heap_mb, self.kind.undo_copy, flags)
    self._failures = failures
    self._alpha = settings.alpha

  def start(self):
    try:
      super().start()
    except ClusterError as error:
      raise ClusterError(
          f"{self.word}: its nodes (--chain_mode={self.kind.mode} "
          f"--undo_copy={self.kind.undo_copy}) did not come up; this build may "
          f"not have that mode: {error}") from error

  def about(self):
    copies = {OWN_COPY: "an undo copy at the head",
              ALL_COPIES: "undo copies at each node",
              NO_COPY: "an undo log at each node"}[self.kind.copies]
    return (f"chain mode {self.kind.mode}, {self.nodes} nodes for f = "
            f"{self._failures}, {copies} ({self.kind.undo_copy})")

  def statuses(self):
    """Each node's status, head first."""
    lines = [json.loads(line) for line in
             self.cluster.kamino("status", "--json").stdout.splitlines()]
    found = {line["node_id"]: line for line in lines if "uptime_ms" in line}
    missing = [name for name in self.names if name not in found]
    if missing:
      raise ClusterError(f"{self.word}: {', '.join(missing)} did not answer")
    return [found[name] for name in self.names]

  def storage(self):
    """Bytes: of files, by what they are for, and of what is used in them."""
    files = {}
    for name in self.names:
      for part in ("heap", "undo_copy", "ring"):
        path = os.path.join(self.cluster.data_dir(name), f"{part}.pmem")
        files[part] = files.get(part, 0) + allocated(path)
    statuses = self.statuses()
    used = [int(s.get("heap_bytes_used", 0)) for s in statuses]
    copies = [int(s.get("undo_copy", {}).get("bytes_used", 0))
              for s in statuses]
    hits, misses = (sum(int(s.get("undo_copy", {}).get(name, 0))
                        for s in statuses) for name in ("hits", "misses"))
    heap = int(statuses[-1]["heap_bytes_total"])
    return {
        "nodes": self.nodes, "formula": self.kind.formula(),
        "by_formula": self.kind.storage(self.nodes, self._alpha),
        "heap_bytes": heap, "files": files,
        # Times the heap, as the formula is; rings are apart.
        "by_files": (files["heap"] + files["undo_copy"]) / heap,
        "used_bytes": sum(used) + sum(copies), "data_bytes": used[-1],
        # Hit rate of writes; only dynamic undo copies have one.
        "copy_hit_rate": hits / (hits + misses) if hits + misses else None,
        "by_use": (sum(used) + sum(copies)) / max(used[-1], 1)}

  def bytes_on_links(self, value_size, count, keys):
    """Bytes on all links for each put over an existing object."""
    def put(number, *more):
      self.cluster.kamino("bench", "put", f"--value_size={value_size}",
                          f"--keys={keys}", f"--count={number}",
                          "--outstanding=32", *more)
    put(keys, "--in_order")
    put(min(count, LINK_WARM_UP))
    before = sent(self.statuses())
    put(count)
    after = sent(self.statuses())
    return {"value_size": value_size, "operations": count,
            "bytes_per_op": (after[0] - before[0]) / count,
            "messages_per_op": (after[1] - before[1]) / count}


def allocated(path):
  """Bytes of the medium that a file has; 0 where there is none."""
  try:
    found = os.stat(path)
  except FileNotFoundError:
    return 0
  return found.st_blocks * 512 if stat.S_ISREG(found.st_mode) else 0


def sent(statuses):
  """Bytes and messages, over all links between nodes."""
  links = [link for status in statuses for link in status.get("links", [])]
  return (sum(int(link.get("sent_bytes", 0)) for link in links),
          sum(int(link.get("sent_messages", 0)) for link in links))


class ChainRig(Servers):
  """The chains of the subjects `words`, for so many failures.

  Args:
    delay_ns: what each drain and line takes longer.
    settings: heap_mb, alpha, scrub_mb_per_s.
  """

  def __init__(self, words, failures, delay_ns, settings, binaries):
    super().__init__(words, "chain")
    self._failures, self._delay_ns = failures, delay_ns
    self._settings = settings
    self._binaries = binaries

  @property
  def chains(self):
    """The chains by subject."""
    return self._servers

  def _start(self, word):
    print(f"starting {word}, f = {self._failures}", file=sys.stderr)
    chain = self._once(word, lambda folder: ModeChain(
        os.path.join(folder, "c"), self._binaries, word, self._failures,
        self._delay_ns, self._settings))
    return chain.spec(word, CARRIER)

  def needed_mb(self):
    return sum(needed_mb(nodes_of(word, self._failures),
                         kind_of(word).undo_copy, self._settings.heap_mb)
               for word in self._words)


__all__ = ["ChainRig", "ClusterError", "KINDS", "check_subject", "kind_of",
           "nodes_of"]
