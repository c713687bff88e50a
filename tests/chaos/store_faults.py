"""etcd with other contents than it had, and etcd that takes none."""

import os

from fault import LASTING, LONG, Fault
from processes import wait_until
from stage import NoVictim, left
from store import cannot_use

REACTION_S = 20.0  # managers look at the store now and then
LATER = 100  # acknowledged writes after a snapshot, if they end in time


def _save(stage):
  path = os.path.join(stage.cluster.copies_dir(), "etcd.snapshot")
  stage.kept["revision"] = stage.cluster.store.save(path)
  return path


def _another_view(stage):
  """The chain goes on without one of its nodes."""
  if len(stage.chain()) < 3:
    raise NoVictim("the chain is too short")
  victim = stage.hit(stage.node("any"))
  stage.cluster.crash(victim)
  stage.away = [victim]
  wait_until(lambda: left(stage), REACTION_S, f"{victim} to be dropped")
  stage.cluster.await_more_or(LATER)


def _put_back(stage, path):
  now = stage.cluster.store.revision()
  if now <= stage.kept["revision"]:
    raise NoVictim("nothing was stored since")
  stage.cluster.tell(f"from revision {now} to {stage.kept['revision']}")
  stage.cluster.crash(stage.hit("etcd"))
  stage.cluster.store.put_back(path)
  stage.cluster.revive("etcd")


def _restore_same_view(stage):
  """Nodes know nothing that it does not: it goes on by itself."""
  path = _save(stage)
  stage.cluster.await_more_or(LATER)
  wait_until(lambda: stage.cluster.store.revision() >
             stage.kept["revision"] + 3, REACTION_S, "etcd to be written to")
  _put_back(stage, path)


def _restore_old_view(stage):
  path = _save(stage)
  _another_view(stage)
  _put_back(stage, path)


def _empty(stage):
  stage.cluster.crash(stage.hit("etcd"))
  stage.cluster.store.empty()
  stage.cluster.revive("etcd")


def _managers_say_so(stage):
  return stage.cluster.operator.says_behind()


def _recover(stage):
  """kamino admin recover; the node that was away returns after it."""
  wait_until(stage.cluster.operator.recover, REACTION_S,
             "kamino admin recover to go on with all that was acknowledged")
  for name in stage.victims:
    stage.cluster.revive(name)


def _nothing_more(stage):
  stage.cluster.revive("etcd")


def _fill(stage):
  stage.hit("etcd")
  stage.kept["said"] = stage.cluster.said_by_managers()
  stage.cluster.store.fill()


def _managers_say_full(stage):
  return "etcd is full" in stage.cluster.said_by_managers(stage.kept["said"])


def _make_room(stage):
  stage.cluster.store.make_room()


def _store(name, inject, heal, lasts, **more):
  return Fault(name, inject, heal, lasts, settles=True, alone=True,
               missing=cannot_use, **more)


FAULTS = [
    _store("etcd put back", _restore_same_view, _nothing_more, LONG),
    _store("etcd put back, older view", _restore_old_view, _recover, LONG,
           costs=1, took=_managers_say_so),
    _store("etcd emptied", _empty, _recover, LONG, took=_managers_say_so),
    _store("etcd full", _fill, _make_room, LASTING, took=_managers_say_full),
]
