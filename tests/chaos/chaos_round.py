"""One round: a fresh cluster, clients, a list of faults, the verdict."""

import dataclasses
import json
import os
import random
import shutil
import time

import checkers
from acknowledged import AckWatch, longest_gap, merge
from chaos_cluster import NODES, SIDES, WORKLOADS, ChaosCluster, parties
from faults import SUPPORTED, NoVictim, Stage
from network import Network
from processes import ClusterError, wait_until

RECOVERY_S = 20.0  # from a fault's end to the next acknowledged write
REJOIN_S = 30.0  # from then on until the chain is whole
LAST_READS_S = 60.0
# Of calls; a short one gives unknown outcomes.
TIMEOUTS = {"registers": "1500ms", "bank": "5s", "lists": "5s"}
SETTLE_S = 15.0
FILLED_MB = 10
AGREED = ("received", "applied", "cleaned", "heap_bytes_used", "objects")


CLIENTS = {f"{workload}-{side}": (workload, side)
           for workload in WORKLOADS for side in SIDES}


@dataclasses.dataclass
class Injected:
  """What became of one fault; times in seconds of time.monotonic()."""
  name: str
  victims: str = ""
  began: float = 0.0
  healed: float = 0.0
  survived: bool = False
  skipped: str = ""  # why it was not injected
  gap_s: float = 0.0  # the longest without an acknowledged write


@dataclasses.dataclass
class Verdict:
  """Of a round."""
  injected: list = dataclasses.field(default_factory=list)
  problems: list = dataclasses.field(default_factory=list)
  reports: dict = dataclasses.field(default_factory=dict)  # by workload
  acknowledged: int = 0  # writes
  longest_gap_s: float = 0.0


def check_histories(folder):
  """Judges the histories of a folder: (reports by workload, problems)."""
  reports, problems = {}, []
  for workload in WORKLOADS:
    path = os.path.join(folder, f"{workload}.jsonl")
    try:
      merge([os.path.join(folder, f"{workload}-{side}.jsonl")
             for side in SIDES], path)
      report = checkers.check(workload, path)
    except (OSError, ValueError, checkers.CheckError) as error:
      problems.append(str(error))
      continue
    reports[workload] = report
    problems += [f"{workload}: {v}" for v in report["violations"]]
    if report["valid"] != "true" and not report["violations"]:
      problems.append(f"{workload}: valid is {report['valid']}")
    if report["operations"] == 0:
      problems.append(f"{workload}: nothing was done")
  return reports, problems


def differences(some, others):
  """A few keys by which two listings of objects differ."""
  lines = set(some.splitlines()) ^ set(others.splitlines())
  keys = sorted({line.split("\t")[0] for line in lines})
  return f"{len(keys)}, such as {' '.join(keys[:3])}"


class Round:
  """Runs one. Histories, schedule and logs go to `out`, the rest away."""

  def __init__(self, binaries, client, folder, out, settings, say):
    self.client = client
    self.out = out
    self.settings = settings
    self.say = say
    self.network = Network(parties())
    self.cluster = ChaosCluster(folder, binaries, self.network,
                                settings.failure_timeout_ms)
    self.watches = {
        name: AckWatch(os.path.join(out, f"{name}.jsonl")) for name in CLIENTS}
    self.verdict = Verdict()

  def run(self, steps, deadline):
    os.makedirs(self.out, exist_ok=True)
    try:
      self.network.create()
      self.cluster.start_all()
      self.cluster.fill_heap(FILLED_MB)
      self._start_clients()
      for step in steps:
        if time.monotonic() > deadline or self.verdict.problems:
          break
        self._step(step)
      self._end()
    except ClusterError as error:
      self.verdict.problems.append(str(error))
    finally:
      self._keep()
      self.cluster.destroy()
      self.network.destroy()
    self._judge()
    return self.verdict

  def _start_clients(self):
    for name, (workload, side) in CLIENTS.items():
      self.cluster.start_client(
          name, self.client, workload, side,
          f"--history={self.watches[name].path}",
          f"--rate={self.settings.rate}", f"--timeout={TIMEOUTS[workload]}")
    self._await_acks(time.monotonic())

  # --- Faults.

  def _step(self, step):
    stage = Stage(self.cluster, SIDES, random.Random(step.dice_seed))
    injected = Injected(step.fault.name, began=time.monotonic())
    self.verdict.injected.append(injected)
    if len(self.cluster.serving()) <= step.fault.costs:
      injected.skipped = "the chain is too short"
      return
    pause = step.lasts * self.cluster.failure_timeout_s
    try:
      for again in range(step.fault.times):
        if again:
          self._wait(pause)
        step.fault.inject(stage)
        self._wait(pause)
        step.fault.heal(stage)
    except NoVictim as error:
      injected.skipped = str(error)
      return
    injected.victims = " ".join(stage.victims)
    injected.healed = time.monotonic()
    try:
      self._wait(step.fault.settle_s)
      wait_until(self.cluster.leader, RECOVERY_S, "a manager to lead")
      self._await_acks(time.monotonic())
      injected.survived = True
    except ClusterError as error:
      self.verdict.problems.append(f"after {step.fault.name}: {error}")
    if step.patient:
      self._await_whole(f"after {step.fault.name}")
    self._check_processes(f"after {step.fault.name}")
    self._wait(step.calm_s)
    self._tell(injected)

  def _await_whole(self, when):
    """Every node is back in the chain, where the product can do that."""
    if not SUPPORTED["rejoin"]:
      return
    try:
      wait_until(lambda: len(self.cluster.serving()) == NODES, REJOIN_S,
                 "all nodes to be in the chain")
    except ClusterError as error:
      self.verdict.problems.append(
          f"{when}: {error}; it is {' '.join(self.cluster.serving())}")

  def _tell(self, injected):
    injected.gap_s, _ = longest_gap(self._acks(), injected.began,
                                    time.monotonic())
    self.say(f"  {injected.name} ({injected.victims}): "
             f"{'survived' if injected.survived else 'NOT SURVIVED'}, "
             f"no write for {injected.gap_s:.2f} s, "
             f"chain {' '.join(self.cluster.serving())}")

  def _wait(self, seconds):
    time.sleep(seconds)

  def _acks(self):
    for watch in self.watches.values():
      watch.poll()
    return [t for watch in self.watches.values() for t in watch.acks]

  def _await_acks(self, since):
    """Until every client has a write that was acknowledged after that."""
    def all_write():
      self._acks()
      return all(w.acks and w.acks[-1] > since for w in self.watches.values())
    wait_until(all_write, RECOVERY_S, "acknowledged writes of every client")

  def _check_processes(self, when):
    for name in self.cluster.unexpected_ends():
      self.cluster.excuse(name)  # said once
      self.verdict.problems.append(
          f"{name} ended by itself {when}: "
          f"{self.cluster.log_tail(name, 2).strip()}")
    for name in CLIENTS:
      if not self.cluster.client_runs(name):
        raise ClusterError(f"the client of {name} ended {when}: "
                           f"{self.cluster.log_tail(name).strip()}")

  # --- The end.

  def _end(self):
    """Last reads of everything, then all nodes of the chain are the same."""
    self._await_whole("at the end")
    acks = self._acks()
    self.verdict.acknowledged = len(acks)
    self.verdict.longest_gap_s, _ = longest_gap(acks, 0, time.monotonic())
    self.verdict.problems += self.cluster.end_clients(LAST_READS_S)
    if not self.verdict.problems:
      wait_until(self._agree, SETTLE_S, "the nodes of the chain to agree")
    self._check_processes_at_end()
    if not self.verdict.problems:
      self._check_replicas()

  def _check_replicas(self):
    """Each node is made the tail, for a look at what it holds."""
    chain = self.cluster.serving()
    expected = self.cluster.contents()
    while len(chain) > 1:
      tail, chain = chain[-1], chain[:-1]
      self.cluster.crash(tail)
      self.cluster.await_chain(chain)
      found = self.cluster.contents()
      if found != expected:
        self.verdict.problems.append(
            f"{chain[-1]} holds other objects than {tail}: "
            f"{differences(expected, found)}")

  def _check_processes_at_end(self):
    for name in self.cluster.unexpected_ends():
      self.verdict.problems.append(
          f"{name} ended by itself: {self.cluster.log_tail(name, 2).strip()}")

  def _agree(self):
    done = self.cluster.kamino("status", "--json", "--timeout=2s", check=False)
    if done.returncode != 0:
      return False
    nodes = [json.loads(line) for line in done.stdout.splitlines()[1:]]
    return nodes and all(
        len({node.get(field) for node in nodes}) == 1 for field in AGREED)

  def _keep(self):
    with open(os.path.join(self.out, "faults.json"), "w",
              encoding="utf-8") as f:
      json.dump([dataclasses.asdict(i) for i in self.verdict.injected], f,
                indent=1)
    for name in self.cluster.state.get("processes", {}):
      try:
        shutil.copy(self.cluster.log_path(name), self.out)
      except OSError:
        pass  # it was never started

  def _judge(self):
    reports, problems = check_histories(self.out)
    self.verdict.reports = reports
    self.verdict.problems += problems
