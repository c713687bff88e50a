"""Media that are not what a node believes: files of an earlier time, changed
bytes, another node's flags."""

import media
from fault import LONG, SHORT, Fault, nothing
from operator_acts import CHANGED, DAMAGED, MIXED, OLD_COPY, OTHERWISE, UNALIKE
from stage import NoVictim, left

LATER = 150  # acknowledged writes after a copy was made, if they end in time


def _copies(stage, victims):
  """Copies all of the victims' files at one moment; returns (folder, position
  applied) of each."""
  folders = stage.cluster.copy_files(*victims)
  # While another fault cuts the clients from the tail, few writes end: each
  # client waits for its reads.
  stage.cluster.await_more_or(LATER)
  return [(folder, media.applied(folder)) for folder in folders]


def _copy(stage, victim):
  return _copies(stage, [victim])[0]


def _put_back(stage, victim, folder, before, *files):
  """Puts the copy back into a node that has ended, with later files."""
  place = stage.cluster.data_dir(victim)
  if media.applied(place) <= before:
    raise NoVictim(f"{victim} has applied nothing since")
  for file in files or media.FILES:
    stage.cluster.put_back(victim, folder, file)
  stage.cluster.drop_copy(folder)


def _old_copy(stage):
  """A quick restart on it: in its place."""
  victim = stage.hit(stage.node("any"))
  folder, before = _copy(stage, victim)
  stage.may_end(victim, *OLD_COPY)
  stage.cluster.crash(victim)
  _put_back(stage, victim, folder, before)
  stage.cluster.revive_or_ends(victim)


def _late_old_copy(stage):
  """The node returns when the chain goes on without it."""
  victim = stage.hit(stage.node("any"))
  stage.kept["copy"] = _copy(stage, victim)
  stage.may_end(victim, *OLD_COPY)
  stage.cluster.crash(victim)
  stage.away = [victim]


def _come_back_old(stage):
  victim = stage.victims[0]
  _put_back(stage, victim, *stage.kept["copy"])
  stage.cluster.revive_or_ends(victim)


def _old_copies_in_power_cut(count, managers_too=False):
  """All are restarted, so many of them on copies."""
  def inject(stage):
    victims = stage.dice.sample(stage.chain(), count)
    processes = [*stage.cluster.nodes,
                 *(stage.cluster.managers if managers_too else [])]
    stage.hit(*processes)
    copies = _copies(stage, victims)
    if managers_too:
      # After a restart the managers know what they stored with each renewal, so
      # they do not notice younger copies (docs/design/fault_model.md). The
      # first renewal may have been under way.
      for _ in range(2):
        stage.cluster.await_renewal()
    for name in victims:
      stage.may_end(name, *OLD_COPY)
    for name in processes:
      stage.cluster.crash(name)
    for name, copy in zip(victims, copies):
      _put_back(stage, name, *copy)
    stage.kept["old"] = victims
    stage.cluster.tell(f"old: {' '.join(victims)}")
  return inject


def _all_come_back(stage):
  """Revives the victims in any order, but managers first."""
  order = list(stage.victims)
  stage.dice.shuffle(order)
  managers = [n for n in order if n in stage.cluster.managers]
  for name in managers:
    stage.cluster.revive(name)
  for name in order:
    if name not in managers:
      stage.cluster.revive_or_ends(name)


def _old_ones_come_back_first(stage):
  """The stale copies may serve before the other nodes return."""
  for name in stage.cluster.managers:
    stage.cluster.revive(name)
  for name in stage.kept["old"]:
    stage.cluster.revive_or_ends(name)
  stage.cluster.await_more_or(LATER)
  for name in stage.cluster.nodes:
    if name not in stage.kept["old"]:
      stage.cluster.revive(name)


def _old_file(stage):
  """One of its files only."""
  victim = stage.hit(stage.node("any"))
  folder, before = _copy(stage, victim)
  file = stage.dice.choice([media.HEAP, media.RING, media.UNDO_COPY])
  stage.may_end(victim, *OLD_COPY, *MIXED, *DAMAGED, *OTHERWISE)
  stage.cluster.crash(victim)
  _put_back(stage, victim, folder, before, file)
  stage.kept["file"] = file
  stage.cluster.revive_or_ends(victim)


def _mixture_is_refused(stage):
  """Only the restart of a head uses the undo copy, so it may go unnoticed."""
  return (stage.kept["file"] == media.UNDO_COPY or
          stage.cluster.has_ended(stage.victims[0]))


# --- Changed bits.

def _flip(*places, role="any", confirmed=False):
  """Flips a bit in each of the places of one of these kinds."""
  def inject(stage):
    if confirmed:
      # Copies of each other would be one vote (docs/design/fault_model.md).
      stage.cluster.await_confirmed()
    victim = stage.hit(stage.node(role))
    stage.may_end(victim, *OLD_COPY, *MIXED, *DAMAGED, *OTHERWISE, *CHANGED)
    stage.cluster.crash(victim)
    folder = stage.cluster.data_dir(victim)
    try:
      found = stage.dice.choice(places)(folder, stage.dice)
    except media.NotThere as error:
      stage.cluster.revive(victim)
      raise NoVictim(str(error)) from error
    stage.cluster.tell(", ".join(
        media.flip(folder, place, stage.dice) for place in found))
    stage.cluster.revive_or_ends(victim)
  return inject


def _is_refused(stage):
  return all(stage.cluster.has_ended(name) for name in stage.victims)


def _flipped(name, *places, refused=False, role="any", alone=False,
             confirmed=False):
  return Fault(f"flip bits, {name}", _flip(*places, role=role,
                                           confirmed=confirmed),
               nothing, SHORT, 1, took=_is_refused if refused else None,
               goes_on=True, alone=alone)


# --- Flags.

FLAGS = ("--ring_mb=17", "--ring_mb=24", "--heap_mb=16", "--heap_mb=48",
         "--cluster_id=another", "--node_id=n9")


def _other_flags(stage):
  """A member is started again, not as the others are."""
  victim = stage.hit(stage.node("any"))
  stage.cluster.crash(victim)
  flag = stage.dice.choice(FLAGS)
  stage.cluster.tell(flag)
  stage.cluster.excuse(victim)
  stage.cluster.start_or_ends(victim, flag)


def _unalike_is_refused(stage):
  victim = stage.victims[0]
  return (stage.cluster.has_ended(victim) and
          stage.cluster.says_at_end(victim, UNALIKE))


def _as_before(stage):
  stage.cluster.revive(stage.victims[0])


MANAGER_FLAGS = ("--failure_timeout_ms={:.0f}", "--leader_ttl_s=1",
                 "--leader_ttl_s=5", "--chain_length=3")


def _manager_of_other_flags(stage):
  """The leader's flags differ from those of the leaders before and after."""
  flag = stage.dice.choice(MANAGER_FLAGS).format(
      stage.cluster.failure_timeout_s * 1000 * stage.dice.choice((0.5, 3)))
  stage.cluster.tell(flag)
  victim = stage.hit(stage.dice.choice(stage.cluster.managers))
  for name in stage.cluster.managers:
    stage.cluster.crash(name)
  stage.cluster.start_or_ends(victim, flag)


def _it_leads(stage):
  return stage.cluster.leader() == stage.victims[0]


def _managers_as_before(stage):
  for name in stage.cluster.managers:
    if name in stage.victims:
      stage.cluster.crash(name)
    stage.cluster.revive(name)


FAULTS = [
    Fault("old copy of node", _old_copy, nothing, SHORT, 1, goes_on=True),
    Fault("old copy of node, late", _late_old_copy, _come_back_old, LONG, 1,
          took=left, goes_on=True),
    Fault("old copy in power cut", _old_copies_in_power_cut(1),
          _all_come_back, SHORT, 2, alone=True),
    Fault("old copies in power cut", _old_copies_in_power_cut(2),
          _all_come_back, SHORT, 2, alone=True),
    Fault("old copies come back first", _old_copies_in_power_cut(2, True),
          _old_ones_come_back_first, SHORT, 2, settles=True,
          alone=True),
    Fault("old copy of one file", _old_file, nothing, SHORT, 1,
          took=_mixture_is_refused, goes_on=True),
    _flipped("heap's frame", media.superblock, media.stamp, refused=True),
    _flipped("heap's blocks", media.block_word),
    # No client reads what a node in the middle holds.
    _flipped("objects", media.object_bytes, refused=True, role="middle",
             alone=True, confirmed=True),
    _flipped("ring's frame", media.ring_header, refused=True),
    _flipped("ring's marks", media.ring_mark),
    _flipped("ring's entries", media.ring_entry),
    _flipped("record, one copy", media.record_copy),
    _flipped("record, both copies", media.record, refused=True),
    _flipped("undo copy", media.undo_header),
    Fault("unequal flags, node", _other_flags, _as_before, SHORT, 1,
          took=_unalike_is_refused, goes_on=True),
    Fault("unequal flags, manager", _manager_of_other_flags,
          _managers_as_before, LONG, settles=True, took=_it_leads,
          goes_on=True, alone=True),
]

