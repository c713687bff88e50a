"""One round: a fresh cluster, clients, a list of faults, the verdict."""

import contextlib
import dataclasses
import json
import os
import random
import shutil
import time

import checkers
from acknowledged import AckWatch, longest_gap, merge
from chaos_cluster import NODES, SIDES, WORKLOADS, ChaosCluster, parties
from fault import EFFECT_S
from held_thread import ThreadError
from network import Network, NetworkError
from processes import ClusterError, wait_until
from schedule import Step
from stage import NoVictim, Stage

RECOVERY_S = 20.0  # from a fault's end to the next acknowledged write
GOES_ON = 100  # writes while a fault lasts that is not to stop them
GOES_ON_S = 20.0
REJOIN_S = 30.0  # from then on until the chain is whole
CALM_S = 3.0  # for the writes between two faults, at most
EVERY_COPY = "destroy every copy"
NO_ANSWER_S = 2  # patience with a call while no server can answer it
NO_ANSWER = 3  # the command line's exit code then
LAST_READS_S = 60.0
# Timeouts of calls; a short one gives unknown outcomes.
TIMEOUTS = {"registers": "1500ms", "bank": "5s", "lists": "5s"}
SETTLE_S = 15.0
FILLED_MB = 10
AGREED = ("received", "applied", "cleaned", "heap_bytes_used", "objects")


CLIENTS = {f"{workload}-{side}": (workload, side)
           for workload in WORKLOADS for side in SIDES}


PROBLEMS = (ClusterError, NetworkError, ThreadError, OSError)


@dataclasses.dataclass
class Injected:
  """The outcome of one fault; times in seconds of time.monotonic()."""
  name: str
  victims: str = ""
  details: list = dataclasses.field(default_factory=list)
  company: str = ""  # which others were there meanwhile
  began: float = 0.0  # it is prepared
  there: float = 0.0
  healed: float = 0.0
  survived: bool = False
  skipped: str = ""  # why it was not injected
  again: bool = False  # in a turn by itself, as it was skipped before
  gap_s: float = 0.0  # the longest without an acknowledged write
  read_gap_s: float = 0.0  # and without a read that was answered


@dataclasses.dataclass
class Verdict:
  """The verdict of a round."""
  injected: list = dataclasses.field(default_factory=list)
  problems: list = dataclasses.field(default_factory=list)
  reports: dict = dataclasses.field(default_factory=dict)  # by workload
  acknowledged: int = 0  # writes
  longest_gap_s: float = 0.0
  acts: list = dataclasses.field(default_factory=list)  # an operator's


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
                                settings.failure_timeout_ms, settings.mode)
    self.cluster.await_renewal = self._await_renewal
    self.cluster.await_more_or = (
        lambda count: self._await_acks_or(count, GOES_ON_S / 2))
    self.operator = self.cluster.operator
    self.timeout_s = self.cluster.failure_timeout_s
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
      self._second_turns(steps, deadline)
      self._end()
    except PROBLEMS as error:
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

  def _second_turns(self, steps, deadline):
    """Who could not be injected each time gets a turn by itself, while the
    chain is whole: nothing is in its way then."""
    parts = {p.fault.name: p for s in steps for p in s.parts}
    came = {i.name for i in self.verdict.injected if not i.skipped}
    skipped = dict.fromkeys(i.name for i in self.verdict.injected)
    for name in (n for n in skipped if n not in came):
      if time.monotonic() > deadline or self.verdict.problems:
        return
      self._await_whole(f"before {name}")
      self._step(Step((parts[name],), GOES_ON, patient=True), again=True)

  def _step(self, step, again=False):
    told = [Injected(p.fault.name, began=time.monotonic(), again=again,
                     company=step.name if len(step.parts) > 1 else "")
            for p in step.parts]
    self.verdict.injected += told
    if any(p.fault.alone for p in step.parts):
      self._await_whole(f"before {step.name}")
    if len(self.cluster.serving()) <= step.costs:
      for injected in told:
        injected.skipped = "the chain is too short"
      return
    done = [i for i in told if not i.skipped]
    try:
      self._play(step, told)
      done = [i for i in told if not i.skipped]
      if not done:
        return
      self._settle(step)
      for injected in done:
        injected.survived = True
    except PROBLEMS as error:
      self.verdict.problems.append(f"after {step.name}: {error}")
    if step.patient:
      self._await_whole(f"after {step.name}")
    self._check_processes(f"after {step.name}")
    self._await_acks_or(step.calm, CALM_S)
    self._tell(done)

  def _settle(self, step):
    """Until what the faults of the step have done is over."""
    wait_until(self.cluster.leader, RECOVERY_S, "a manager to lead")
    if any(p.fault.settles for p in step.parts):
      self._await_renewal()
    self._await_acks(time.monotonic())

  def _play(self, step, told):
    """Injects the parts, one while the others last; heals each when it is
    over."""
    lasting = []
    try:
      for part, injected in zip(step.parts, told):
        self._between(lasting, part.after)
        taken = [n for stage, _, _ in lasting for n in stage.victims]
        stage = Stage(self.cluster, SIDES, random.Random(part.dice_seed), taken)
        lasting.append((stage, part, injected))
        self._inject(*lasting[-1], alone=len(step.parts) == 1)
        if injected.skipped:
          lasting.pop()
          self.say(f"  {injected.name}: not now: {injected.skipped}")
      lasting.sort(key=self._over)
      while lasting:
        self._hold(self._over(lasting[0]))
        self._heal(*lasting.pop(0))
    except PROBLEMS:
      for each in lasting:
        with contextlib.suppress(*PROBLEMS):
          self._heal(*each)
      raise

  def _between(self, lasting, writes):
    """Waits for so many writes, but no longer than one of the faults lasts."""
    if not lasting:
      return
    lasting.sort(key=self._over)
    left = self._over(lasting[0]) - time.monotonic()
    self._await_acks_or(writes, max(0, min(CALM_S, left)))
    while lasting and self._over(lasting[0]) < time.monotonic():
      self._heal(*lasting.pop(0))

  def _over(self, lasting):
    """When a fault that is there is to be healed."""
    _, part, injected = lasting
    return injected.there + part.lasts * self.timeout_s

  def _inject(self, stage, part, injected, alone):
    fault = part.fault
    self.cluster.tell = injected.details.append
    injected.began = time.monotonic()
    try:
      fault.inject(stage)
    except NoVictim as error:
      self._withdraw(stage, injected, str(error))
      return
    except (ClusterError, ThreadError) as error:
      # A node whose files an earlier fault damaged can end at any moment.
      if not set(stage.victims) & set(self.operator.expected_ends()):
        raise
      self._withdraw(stage, injected, str(error))
      return
    injected.there = time.monotonic()
    injected.victims = " ".join(stage.victims)
    self.operator.expect(stage.ends)
    # Faults that act together need not each have their effect on the chain.
    if alone:
      self._await_effect(fault, stage)
    for _ in range(fault.times - 1):
      self._hold(time.monotonic() + part.lasts * self.timeout_s)
      fault.heal(stage)
      self._await_acks_or(GOES_ON, part.lasts * self.timeout_s)
      fault.inject(stage)
    if fault.times > 1:
      injected.there = time.monotonic()

  def _withdraw(self, stage, injected, reason):
    """Undoes a fault of which only a part was injected. The operator restarts
    the victims that ended by themselves."""
    injected.skipped = reason
    stage.heal_network()
    for thread in stage.held:
      thread.let_go()
    ended = self.operator.expected_ends()
    for name in (n for n in stage.victims if n not in ended):
      self.cluster.resume(name)
      self.cluster.revive(name)

  def _await_effect(self, fault, stage):
    try:
      if fault.took is not None:
        wait_until(lambda: fault.took(stage), fault.effect_s, "its effect")
      if fault.goes_on:
        self._await_more(GOES_ON, GOES_ON_S, "writes while it lasts")
    except ClusterError as error:
      raise ClusterError(
          f"{fault.name} ({' '.join(stage.victims)}): {error}; the chain is "
          f"{' '.join(self.cluster.serving())}") from error

  def _heal(self, stage, part, injected):
    injected.victims = " ".join(stage.victims)
    part.fault.heal(stage)
    self.operator.expect(stage.ends)
    injected.healed = time.monotonic()

  @staticmethod
  def _hold(until):
    """Waits until the fault has lasted long enough."""
    wait_until(lambda: time.monotonic() >= until, 2 * EFFECT_S,
               "a fault to be over")

  def _await_renewal(self):
    """A leadership that was not renewed meanwhile would end in a while."""
    before = self.cluster.store.renewed()
    if before is not None:
      wait_until(lambda: self.cluster.store.renewed() not in (None, before),
                 RECOVERY_S, "the leadership to be renewed")

  def _await_whole(self, when):
    """Every node is back in the chain."""
    def whole():
      self._attend(when)
      return len(self.cluster.serving()) == NODES
    try:
      wait_until(whole, REJOIN_S, "all nodes to be in the chain")
      self.operator.forget()
    except PROBLEMS as error:
      self.verdict.problems.append(
          f"{when}: {error}; it is {' '.join(self.cluster.serving())}")

  def _attend(self, when):
    """Acts as an operator; a process that ended otherwise is a problem."""
    for name in self.operator.attend():
      said = self.cluster.last_words(name)
      self.cluster.excuse(name)  # said once
      self.verdict.problems.append(f"{name} ended by itself {when}: {said}")

  def _tell(self, done):
    now = time.monotonic()
    gap_s, _ = longest_gap(self._acks(), done[0].began, now)
    reads = [t for watch in self.watches.values() for t in watch.reads]
    read_gap_s, _ = longest_gap(reads, done[0].began, now)
    for injected in done:
      injected.gap_s, injected.read_gap_s = gap_s, read_gap_s
      self.say(f"  {injected.name} ({injected.victims}"
               f"{''.join('; ' + d for d in injected.details)}): "
               f"{'survived' if injected.survived else 'NOT SURVIVED'}"
               f"{', with others' if injected.company else ''}, "
               f"no write for {gap_s:.2f} s, no read for {read_gap_s:.2f} s, "
               f"chain {' '.join(self.cluster.serving())}")
    for act in self.operator.acts:
      self.say(f"    operator: {act}")
    self.verdict.acts += self.operator.acts
    self.operator.acts = []

  # --- Progress.

  def _acks(self):
    for watch in self.watches.values():
      watch.poll()
    return [t for watch in self.watches.values() for t in watch.acks]

  def _await_acks(self, since):
    """Until every client has a write that was acknowledged after that."""
    def all_write():
      self._attend("meanwhile")
      self._acks()
      return all(w.acks and w.acks[-1] > since for w in self.watches.values())
    wait_until(all_write, RECOVERY_S, "acknowledged writes of every client")

  def _await_more(self, count, timeout_s=GOES_ON_S, what="writes"):
    """Until so many more are acknowledged, to whomever."""
    before = len(self._acks())
    wait_until(lambda: len(self._acks()) >= before + count, timeout_s,
               f"{count} acknowledged {what}")

  def _await_acks_or(self, count, timeout_s):
    """The same, but not longer than `timeout_s`."""
    try:
      self._await_more(count, timeout_s)
    except ClusterError:
      pass

  def _check_processes(self, when):
    self._attend(when)
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
    self._attend("at the end")
    if not self.verdict.problems:
      expected = self.cluster.contents()
      self._check_replicas(expected)
      self._destroy_every_copy(expected.split("\t", 1)[0])

  def _check_replicas(self, expected):
    """Each node is made the tail, for a look at what it holds."""
    chain = self.cluster.serving()
    while len(chain) > 1:
      tail, chain = chain[-1], chain[:-1]
      self.cluster.crash(tail)
      self.cluster.await_chain(chain)
      found = self.cluster.contents()
      if found != expected:
        self.verdict.problems.append(
            f"{chain[-1]} holds other objects than {tail}: "
            f"{differences(expected, found)}")

  def _destroy_every_copy(self, key):
    """Acknowledged writes are lost: no client may be told anything else."""
    injected = Injected(EVERY_COPY, " ".join(self.cluster.nodes),
                        began=time.monotonic())
    self.verdict.injected.append(injected)
    for name in self.cluster.nodes:
      self.cluster.crash(name)
      self.cluster.lose_data(name)
    for name in self.cluster.nodes:
      self.cluster.revive(name)
    try:
      wait_until(self.operator.whom_it_waits_for, EFFECT_S,
                 "the manager to say whom the chain waits for")
    except ClusterError as error:
      raise ClusterError(f"{EVERY_COPY}: {error}, which says:\n"
                         f"{self.operator.status()}") from error
    before = len(self.verdict.problems)
    for words in (["get", key], ["scan"], ["put", key, "new"]):
      done = self.cluster.kamino(*words, f"--timeout={NO_ANSWER_S}s",
                                 check=False)
      if done.returncode != NO_ANSWER:
        self.verdict.problems.append(
            f"every copy was destroyed, and kamino {words[0]} ended with "
            f"{done.returncode}: {(done.stdout + done.stderr).strip()[:200]}")
    injected.survived = len(self.verdict.problems) == before

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
