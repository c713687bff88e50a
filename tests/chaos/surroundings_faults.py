"""Faults of a process's surroundings: name servers that hang or are slow, logs
without a reader, proxies in the environment, slow disks."""

from fault import LASTING, LONG, Fault
from processes import ClusterError
from slow_disk import cannot_slow
from stage import NoVictim, left

ANSWER_S = 0.4  # longer than a link waits for a lookup, or a node for a manager
# How long a sync takes, in failure timeouts. A node refuses to start where a
# commit, of up to seven syncs, takes half a lease, which is 0.35 of them.
SLOW = (1 / 200, 1 / 100, 1 / 50)
TOO_SLOW = 1 / 10
# A node measures a slow disk again for 30 s before it refuses to start.
REFUSED_S = 45.0
REFUSED = "the medium is too slow"
# The chain's nodes run with --pmem=force, which makes no syncs.
SYNCS = "--pmem=auto"
# The core thread logs a few lines a second.
TALKS = "--slow_operation_ms=1"
DROPPED = " was not heard of for "


def _is_back(stage):
  return stage.cluster.have_leases(*stage.victims)


# --- Name servers.

def _around(stage):
  around = stage.cluster.around
  if not around.names.goes_on:
    raise NoVictim("another fault has the name server")
  return around


def _hang_and_kill(stage):
  """The nodes of the next view look each other's names up."""
  around = _around(stage)
  victim = stage.hit(stage.node("any"))
  around.hang_names()
  stage.cluster.crash(victim)
  stage.away = [victim]


def _left_while_others_ask(stage):
  return left(stage) and stage.cluster.around.have_asked(
      *(n for n in stage.cluster.nodes if n not in stage.victims))


def _hang_and_restart(stage, victim):
  """The victim finds neither managers nor etcd until the name server goes
  on."""
  around = _around(stage)
  stage.hit(victim)
  around.hang_names()
  stage.cluster.crash(victim)
  stage.cluster.revive(victim)
  around.await_query(victim)


def _hang_and_restart_node(stage):
  victim = stage.node("any")
  _hang_and_restart(stage, victim)
  stage.away = [victim]


def _hang_and_restart_leader(stage):
  _hang_and_restart(stage, stage.leader())


def _another_leads(stage):
  return stage.cluster.leader(but=stage.victims) is not None


def _slow_and_restart(stage):
  around = _around(stage)
  victim = stage.hit(stage.node("any"))
  around.slow_names(ANSWER_S)
  stage.cluster.crash(victim)
  stage.cluster.revive(victim)
  around.await_answer(victim)


def _slow_and_kill_leader_and_node(stage):
  """The others have to find the next leader before the node can be dropped."""
  around = _around(stage)
  leader, victim = stage.leader(), stage.node("any")
  stage.hit(leader, victim)
  around.slow_names(ANSWER_S)
  stage.cluster.crash(leader)
  stage.cluster.crash(victim)
  stage.away = [victim]


def _names_go_on(stage):
  try:
    stage.cluster.around.names_go_on()
  finally:
    for name in stage.victims:
      stage.cluster.revive(name)


# --- Logs.

def _stop_log_reader(stage):
  """The pipe is full when the node starts: it joins the chain all the same."""
  victim = stage.hit(stage.node("any"))
  stage.cluster.crash(victim)
  stage.cluster.stop_log_reader(victim)
  stage.cluster.revive(victim, TALKS)


def _read_logs_on(stage):
  for name in stage.victims:
    stage.cluster.log_reader_goes_on(name)


# --- Proxies.

def _restart_with_proxy(stage, *victims):
  stage.hit(*victims)
  for name in victims:
    stage.cluster.crash(name)
    stage.cluster.around.name_proxy(name)
  for name in victims:
    stage.cluster.revive(name)
    stage.cluster.around.proxy.check_told(stage.cluster.pid(name))


def _restart_node_with_proxy(stage):
  _restart_with_proxy(stage, stage.node("any"))


def _restart_managers_with_proxy(stage):
  _restart_with_proxy(stage, *stage.cluster.managers)


def _one_leads(stage):
  return stage.cluster.leader() is not None


def _no_proxy_was_used(stage):
  stage.cluster.around.check_no_proxy_used(*stage.victims)


# --- Disks.

def _restart_on_slow_disk(stage, share, start):
  """The disk is slow from the node's start on, for opening its files as
  well."""
  victim = stage.hit(stage.node("any"))
  delay_s = share * stage.cluster.failure_timeout_s
  stage.cluster.tell(f"{1000 * delay_s:g} ms a sync")
  stage.cluster.crash(victim)
  stage.kept["disk"] = stage.cluster.around.slow_disk(victim, delay_s)
  start(victim, SYNCS)
  return victim


def _slow_disk(stage):
  victim = _restart_on_slow_disk(stage, stage.dice.choice(SLOW),
                                 stage.cluster.revive)
  stage.kept["disk"].check_used(stage.cluster.pid(victim))
  # Later syncs are of the chain's writes.
  stage.kept["delayed"] = stage.kept["disk"].delayed()
  stage.kept["tell"] = stage.cluster.tell


def _is_back_on_slow_disk(stage):
  """From this moment on no member may be expelled."""
  if not _is_back(stage):
    return False
  stage.kept["said"] = stage.cluster.said_by_managers()
  return True


def _check_no_member_dropped(stage):
  if "said" not in stage.kept:
    return  # it came with other faults, which may drop members
  for line in stage.cluster.said_by_managers(stage.kept["said"]).splitlines():
    if DROPPED in line:
      raise ClusterError("a slow disk was to slow the chain down only, and a "
                         f"member was dropped: {line}")


def _fast_disk(stage):
  for name in stage.victims:
    stage.cluster.around.fast_disk(name)
  delayed = stage.kept["disk"].delayed() - stage.kept["delayed"]
  stage.kept["tell"](f"{delayed} syncs waited")
  if not delayed:
    raise ClusterError("a slow disk was to delay syncs, and there were none")
  _check_no_member_dropped(stage)


def _too_slow_disk(stage):
  victim = _restart_on_slow_disk(stage, TOO_SLOW, stage.cluster.start_or_ends)
  stage.cluster.excuse(victim)
  stage.away = [victim]


def _is_refused(stage):
  return left(stage) and all(
      not stage.cluster.alive(name) and
      stage.cluster.says_at_end(name, [REFUSED]) for name in stage.victims)


def _another_disk(stage):
  for name in stage.victims:
    stage.cluster.crash(name)
    stage.cluster.around.fast_disk(name)
    stage.cluster.revive(name)
  if not stage.kept["disk"].delayed():
    raise ClusterError("a slow disk was to delay syncs, and there were none")


FAULTS = [
    Fault("name server hangs, node dies", _hang_and_kill, _names_go_on, LONG, 1,
          took=_left_while_others_ask, goes_on=True, alone=True),
    Fault("name server hangs, node restarts", _hang_and_restart_node,
          _names_go_on, LONG, 1, took=left, goes_on=True),
    Fault("name server hangs, leader restarts", _hang_and_restart_leader,
          _names_go_on, LONG, settles=True, took=_another_leads, goes_on=True),
    Fault("name server slow", _slow_and_restart, _names_go_on, LONG, 1,
          took=_is_back, goes_on=True),
    Fault("name server slow, leader dies", _slow_and_kill_leader_and_node,
          _names_go_on, LONG, 1, settles=True, took=left, goes_on=True,
          alone=True),
    Fault("log reader stops", _stop_log_reader, _read_logs_on, LASTING, 1,
          took=_is_back, goes_on=True),
    Fault("proxy for node", _restart_node_with_proxy, _no_proxy_was_used, LONG,
          1, took=_is_back, goes_on=True),
    Fault("proxy for managers", _restart_managers_with_proxy,
          _no_proxy_was_used, LONG, settles=True, took=_one_leads,
          goes_on=True),
    Fault("slow disk", _slow_disk, _fast_disk, LASTING, 1,
          took=_is_back_on_slow_disk, goes_on=True, missing=cannot_slow),
    Fault("disk too slow", _too_slow_disk, _another_disk, LONG, 1,
          took=_is_refused, effect_s=REFUSED_S, goes_on=True,
          missing=cannot_slow),
]
