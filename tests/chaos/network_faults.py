"""Links that are cut: of one party, of two, of groups; one way and both. And
addresses that become another cluster's."""

from fault import LASTING, LONG, SHORT, Fault
from network import cannot_cut
from stage import NoVictim, left


def _isolate_node(stage):
  victim = stage.hit(stage.node("any"))
  others = stage.others(victim) + stage.clients
  stage.cut_both_ways([victim], others)
  stage.away = [victim]


def _deafen_node(stage):
  """The node is heard, and hears no others."""
  victim = stage.hit(stage.node("any"))
  stage.cut(stage.others(victim), [victim])
  stage.away = [victim]


def _mute_node(stage):
  """The node hears, and no others hear it."""
  victim = stage.hit(stage.node("any"))
  stage.cut([victim], stage.others(victim))
  stage.away = [victim]


def _isolate_node_and_clients(stage):
  """Clients beside an expelled node must not read what was true before."""
  victim = stage.hit(stage.node(stage.dice.choice(("head", "tail"))))
  company = stage.hit(stage.dice.choice(stage.clients))
  others = [n for n in stage.others(victim) + stage.clients if n != company]
  stage.cut_both_ways([victim, company], others)
  stage.away = [victim]


def _split_in_halves(stage):
  """Two nodes, some managers and clients on either side."""
  chain = stage.chain()
  if len(chain) < 4:
    raise NoVictim("the chain is too short")
  half = stage.dice.sample(chain, 2) + [
      stage.dice.choice(stage.cluster.managers),
      stage.dice.choice(stage.clients)]
  stage.hit(*half)
  stage.cut_both_ways(half, [n for n in stage.parties() if n not in half])


def _cut_link(stage):
  one, other = stage.neighbours()
  stage.hit(one, other)
  stage.cut_both_ways([one], [other])


def _cut_link_one_way(stage):
  pair = list(stage.neighbours())
  stage.dice.shuffle(pair)
  stage.hit(*pair)
  stage.cut([pair[0]], [pair[1]])


def _one_is_left_out(stage):
  """One of the two nodes with the dead link is expelled."""
  chain = stage.cluster.serving()
  return bool(chain) and not set(stage.victims) <= set(chain)


def _cut_clients(stage):
  victim = stage.hit(stage.node("any"))
  stage.cut_both_ways([victim], stage.clients)


def _cut_leader_from_etcd(stage):
  stage.cut_both_ways([stage.hit(stage.leader())], ["etcd"])


def _another_leads(stage):
  return stage.cluster.leader(but=stage.victims) is not None


def _cut_node_from_leader(stage):
  victim = stage.hit(stage.node("any"))
  stage.cut_both_ways([victim], [stage.leader()])
  stage.away = [victim]


def _isolate_managers(stage):
  managers = stage.cluster.managers
  stage.hit(*managers)
  stage.cut_both_ways(managers, stage.cluster.nodes)


def _pair(stage):
  """Any two: nodes, managers, etcd, clients."""
  pair = stage.dice.sample(stage.free(stage.parties()), 2)
  stage.hit(*pair)
  return pair


def _cut_any_two(stage):
  one, other = _pair(stage)
  stage.cut_both_ways([one], [other])


def _cut_any_two_one_way(stage):
  one, other = _pair(stage)
  stage.cut([one], [other])


def _cut_some_from_some(stage):
  """A partial partition: some do not hear some; the others hear all."""
  parties = stage.parties()
  stage.dice.shuffle(parties)
  few, more = stage.dice.randint(1, 3), stage.dice.randint(2, 4)
  deaf, mute = parties[:few], parties[few:few + more]
  stage.hit(*deaf, *mute)
  stage.cut(mute, deaf)
  if stage.dice.random() < 0.5:
    stage.cut(deaf, mute)


def _give_address_away(stage):
  """The node is down, and another cluster's node gets its address."""
  victim = stage.hit(stage.node("any"))
  stage.cluster.crash(victim)
  stage.away = [victim]
  stage.cluster.give_address_away(victim)


def _take_address_back(stage):
  for name in stage.victims:
    stage.cluster.take_address_back(name)
    stage.cluster.revive(name)


def heal(stage):
  stage.heal_network()


def _cut(name, inject, lasts, costs=0, **more):
  return Fault(name, inject, heal, lasts, costs, missing=cannot_cut, **more)


def _out(name, inject):
  """One that costs a node, and nothing else."""
  return _cut(name, inject, LONG, 1, took=left, goes_on=True)


FAULTS = [
    _out("isolate node", _isolate_node),
    _cut("isolate node with clients", _isolate_node_and_clients, (3, 4), 1,
         took=left, goes_on=True),
    _cut("split in halves", _split_in_halves, (3, 5), 2, settles=True),
    _out("node hears nobody", _deafen_node),
    _out("nobody hears node", _mute_node),
    _out("cut node from leader", _cut_node_from_leader),
    _cut("cut chain link", _cut_link, LASTING, 1, took=_one_is_left_out,
         goes_on=True),
    _cut("cut link one way", _cut_link_one_way, LASTING, 1,
         took=_one_is_left_out, goes_on=True),
    _cut("flapping link", _cut_link, SHORT, times=6),
    _cut("cut clients from node", _cut_clients, LONG),
    _cut("cut managers off", _isolate_managers, LONG, settles=True),
    _cut("cut leader from etcd", _cut_leader_from_etcd, (3, 4), settles=True,
         took=_another_leads, goes_on=True),
    _cut("cut any two", _cut_any_two, LASTING, 1, settles=True, goes_on=True),
    _cut("cut any two, one way", _cut_any_two_one_way, LASTING, 1,
         settles=True, goes_on=True),
    _cut("cut some from some", _cut_some_from_some, LASTING, 2, settles=True),
    Fault("address taken by another cluster", _give_address_away,
          _take_address_back, LONG, 1, took=left, goes_on=True),
]
