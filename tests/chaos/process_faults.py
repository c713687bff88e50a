"""Processes that die, stop or are started again; disks that are full."""

from fault import LASTING, LONG, LOSABLE, SHORT, Fault, nothing
from held_thread import cannot_hold
from stage import NoVictim, left

RARELY = (3, 4)


def kill_role(role):
  def inject(stage):
    victim = stage.hit(stage.node(role))
    stage.cluster.crash(victim)
    stage.away = [victim]
  return inject


def revive(stage):
  for name in stage.victims:
    stage.cluster.revive(name)


def _quick_restart(stage):
  victim = stage.hit(stage.node("any"))
  stage.cluster.crash(victim)
  stage.cluster.revive(victim)


def _lose_data_and_revive(stage):
  """A new disk: all of the state has to come from the chain."""
  for name in stage.victims:
    stage.cluster.lose_data(name)
  revive(stage)


def _power_cut(stage):
  for name in stage.cluster.nodes:
    stage.hit(name)
    stage.cluster.crash(name)


def _power_cut_of_all(stage):
  _power_cut(stage)
  for name in [*stage.cluster.managers, "etcd"]:
    stage.hit(name)
    stage.cluster.crash(name)


def revive_in_any_order(stage):
  order = list(stage.victims)
  stage.dice.shuffle(order)
  for name in sorted(order, key=lambda n: n != "etcd"):
    stage.cluster.revive(name)


def _pause_node(stage):
  stage.cluster.pause(stage.hit(stage.node("any")))


def _pause_node_out(stage):
  _pause_node(stage)
  stage.away = list(stage.victims)


def _pause_any(stage):
  """A node, a manager that leads or does not, etcd; for long."""
  stage.cluster.pause(stage.hit(stage.dice.choice(
      stage.free(stage.others(None)))))


def _resume(stage):
  for name in stage.victims:
    stage.cluster.resume(name)


# --- Managers and etcd.

def _kill_leader(stage):
  stage.cluster.crash(stage.hit(stage.leader()))


def _kill_managers(stage):
  for name in stage.cluster.managers:
    stage.cluster.crash(stage.hit(name))


def _pause_leader(stage):
  stage.cluster.pause(stage.hit(stage.leader()))


def _another_leads(stage):
  return stage.cluster.leader(but=stage.victims) is not None


def _kill_etcd(stage):
  stage.cluster.crash(stage.hit("etcd"))


def _pause_etcd(stage):
  stage.cluster.pause(stage.hit("etcd"))


# --- Single threads.

def _hold(stage, name, *threads):
  """Stops one of the threads of these names; of any, without one."""
  stage.held.append(
      stage.cluster.hold_thread(stage.hit(name), stage.dice, *threads))


def _hold_node_thread(*threads):
  def inject(stage):
    _hold(stage, stage.node("any"), *threads)
    stage.away = list(stage.victims)
  return inject


def _hold_any_node_thread(stage):
  _hold(stage, stage.node("any"))


def _hold_leader_thread(stage):
  _hold(stage, stage.leader())


def _hold_etcd_thread(stage):
  _hold(stage, "etcd")


def _hold_peer_lease_without_etcd(stage):
  """The node's peer lease ends; it still renews those of the others."""
  etcd = stage.hit("etcd")
  _hold(stage, stage.node("any"), "peer-lease")
  stage.cluster.pause(etcd)


def _let_go(stage):
  for thread in stage.held:
    thread.let_go()
  stage.held = []


def _let_go_and_resume(stage):
  _let_go(stage)
  stage.cluster.resume("etcd")


# --- Disks.

def _fill_node(stage):
  stage.cluster.fill_disk(stage.hit(stage.node("second")))


def _fill_second_and_kill_head(stage):
  """The next head has no room for what it makes then: it may stop."""
  second = stage.node("second")
  if second == stage.node("tail"):
    raise NoVictim("nobody would be left")
  head = stage.node("head")
  stage.hit(second, head)
  stage.cluster.fill_disk(second)
  stage.cluster.excuse(second)
  stage.cluster.crash(head)
  stage.away = [head]


def _free(stage):
  for name in stage.victims:
    stage.cluster.free_disk(name)


def _free_and_revive(stage):
  _free(stage)
  revive(stage)


ETCD_ENDS_S = 90  # it goes on for as long as its log has room set aside


def _fill_etcd(stage):
  """Etcd ends when it cannot write its log: no view can change."""
  stage.cluster.fill_disk(stage.hit("etcd"))
  stage.cluster.excuse("etcd")


def _etcd_has_ended(stage):
  return not stage.cluster.alive("etcd")


def _free_and_revive_etcd(stage):
  _free(stage)
  stage.cluster.revive("etcd")


def _control(name, inject, heal, lasts, **more):
  """A fault of managers or etcd: leaderships may end by it."""
  return Fault(name, inject, heal, lasts, settles=True, **more)


def _kill(role):
  return Fault(f"kill {role}", kill_role(role), revive, LONG, 1, took=left,
               goes_on=True)


FAULTS = [
    _kill("head"),
    _kill("middle"),
    _kill("tail"),
    Fault("lose node and data", kill_role("any"), _lose_data_and_revive, LONG,
          1, took=left, goes_on=True),
    Fault("quick restart", _quick_restart, nothing, LONG),
    Fault("power cut", _power_cut, revive_in_any_order, SHORT, LOSABLE),
    Fault("long power cut", _power_cut_of_all, revive_in_any_order, LONG,
          LOSABLE, settles=True, alone=True),
    Fault("pause node, short", _pause_node, _resume, SHORT),
    Fault("pause node, long", _pause_node_out, _resume, LONG, 1, took=left,
          goes_on=True),
    Fault("hang core thread", _hold_node_thread("core"), _let_go, LONG, 1,
          took=left, goes_on=True, missing=cannot_hold),
    Fault("hang membership thread", _hold_node_thread("membership"), _let_go,
          LONG, 1, took=left, goes_on=True, missing=cannot_hold),
    Fault("hang peer-lease thread", _hold_node_thread("peer-lease"), _let_go,
          LONG, 1, goes_on=True, missing=cannot_hold),
    Fault("hang peer-lease thread without etcd", _hold_peer_lease_without_etcd,
          _let_go_and_resume, (2, 4), 1, goes_on=True, settles=True,
          missing=cannot_hold),
    Fault("hang any thread of node", _hold_any_node_thread, _let_go, LASTING,
          1, missing=cannot_hold),
    _control("hang thread of leader", _hold_leader_thread, _let_go, LASTING,
             missing=cannot_hold),
    _control("hang thread of etcd", _hold_etcd_thread, _let_go, RARELY,
             missing=cannot_hold),
    _control("kill leader", _kill_leader, revive, LONG, took=_another_leads,
             goes_on=True),
    _control("kill all managers", _kill_managers, revive, SHORT),
    _control("pause leader", _pause_leader, _resume, RARELY,
             took=_another_leads, goes_on=True),
    _control("pause any process", _pause_any, _resume, LASTING, costs=1),
    _control("kill etcd, short", _kill_etcd, revive, SHORT),
    _control("kill etcd, long", _kill_etcd, revive, RARELY),
    _control("pause etcd", _pause_etcd, _resume, (2, 4)),
    _control("disk full, etcd", _fill_etcd, _free_and_revive_etcd, LONG,
             took=_etcd_has_ended, effect_s=ETCD_ENDS_S),
    Fault("disk full, node", _fill_node, _free, LONG),
    Fault("disk full, next head", _fill_second_and_kill_head,
          _free_and_revive, LONG, 2, took=left),
]
