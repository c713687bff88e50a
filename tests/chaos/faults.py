"""The faults, and which of them the product is said to survive now.

A fault is injected, lasts for a while, and is healed. What it needs of the
product and how many nodes it costs the chain is said in FAULTS; SUPPORTED says
what the product can do. Of a chain that only shrinks a run must leave one node
that was never lost.
"""

import dataclasses

# What the product can do: the one place to say so.
SUPPORTED = {
    # A node that is back before it was declared failed keeps its place.
    "quick_reboot": True,
    # A node that comes back later joins again, as a fresh tail.
    "rejoin": True,
    # All nodes at once, restarted on their data.
    "power_cut": True,
}


@dataclasses.dataclass(frozen=True)
class Fault:
  """One kind of fault.

  Attributes:
    name: in tables and schedules.
    inject: function of a Stage.
    heal: function of a Stage; makes good what inject did.
    lasts: (shortest, longest) seconds between the two, in units of the
      failure timeout.
    costs: nodes that leave the chain for good if nodes cannot join again.
    needs: what the product must be able to do.
    times: it is injected and healed that often, on the same victims.
    settle_s: after which its consequences have begun: a leadership ends a
      while after etcd was lost. What comes later is the next fault's.
  """
  name: str
  inject: object
  heal: object
  lasts: tuple
  costs: int = 0
  needs: tuple = ()
  times: int = 1
  settle_s: float = 0.0


class Stage:
  """Where a fault happens: the cluster, dice, and what is to be healed."""

  def __init__(self, cluster, clients, dice):
    self.cluster = cluster
    self.network = cluster.network
    self.clients = list(clients)
    self.dice = dice
    self.victims = []

  def hit(self, *names):
    """Notes whom it hits; returns the first of them."""
    self.victims.extend(n for n in names if n not in self.victims)
    return names[0]

  def node(self, role):
    """The node that has a role now; head, middle, tail, second or any."""
    chain = self.cluster.serving()
    if not chain:
      raise NoVictim("the chain is not serving")
    if role == "any":
      role = self.dice.choice(("head", "middle", "tail"))
    inner = chain[1:-1] or chain[-1:]
    return {"head": chain[0], "tail": chain[-1],
            "second": chain[min(1, len(chain) - 1)],
            "middle": inner[self.dice.randrange(len(inner))]}[role]

  def neighbours(self):
    if self.victims:
      return self.victims
    chain = self.cluster.serving()
    if len(chain) < 2:
      raise NoVictim("there are no two nodes in the chain")
    i = self.dice.randrange(len(chain) - 1)
    return chain[i], chain[i + 1]

  def leader(self):
    leader = self.cluster.leader()
    if leader is None:
      raise NoVictim("no manager leads")
    return leader

  def others(self, name):
    return [n for n in self.cluster.state["processes"] if n != name]


class NoVictim(Exception):
  """The fault cannot be injected now; one line."""


# --- Processes.

def _kill_role(role):
  def inject(stage):
    stage.cluster.crash(stage.hit(stage.node(role)))
  return inject


def _revive_if_it_may_join(stage):
  """A slow restart: the node was dropped in the meantime."""
  if SUPPORTED["rejoin"]:
    _revive(stage)


def _revive(stage):
  for name in stage.victims:
    stage.cluster.revive(name)


def _quick_restart(stage):
  victim = stage.hit(stage.node("any"))
  stage.cluster.crash(victim)
  stage.cluster.revive(victim)


def _lose_data_and_revive(stage):
  """A new disk: all of the state has to come from the chain."""
  if SUPPORTED["rejoin"]:
    for name in stage.victims:
      stage.cluster.lose_data(name)
    _revive(stage)


def _power_cut(stage):
  for name in stage.cluster.nodes:
    stage.hit(name)
    stage.cluster.crash(name)


def _power_cut_of_all(stage):
  _power_cut(stage)
  for name in [*stage.cluster.managers, "etcd"]:
    stage.hit(name)
    stage.cluster.crash(name)


def _revive_in_any_order(stage):
  order = list(stage.victims)
  stage.dice.shuffle(order)
  for name in sorted(order, key=lambda n: n != "etcd"):
    stage.cluster.revive(name)


def _pause_node(stage):
  stage.cluster.pause(stage.hit(stage.node("any")))


def _resume(stage):
  for name in stage.victims:
    stage.cluster.resume(name)


def _nothing(stage):
  del stage


# --- Networks.

def _isolate_node(stage):
  victim = stage.hit(stage.node("any"))
  others = stage.others(victim) + stage.clients
  stage.network.cut_both_ways([victim], others)


def _deafen_node(stage):
  """It is heard, and hears nobody."""
  victim = stage.hit(stage.node("any"))
  stage.network.cut(stage.others(victim), [victim])


def _mute_node(stage):
  """It hears, and nobody hears it."""
  victim = stage.hit(stage.node("any"))
  stage.network.cut([victim], stage.others(victim))


def _isolate_node_and_clients(stage):
  """Who is with it must not be told what was true before it was dropped."""
  victim = stage.hit(stage.node(stage.dice.choice(("head", "tail"))))
  company = stage.hit(stage.dice.choice(stage.clients))
  others = [n for n in stage.others(victim) + stage.clients if n != company]
  stage.network.cut_both_ways([victim, company], others)


def _split_in_halves(stage):
  """Two nodes, some managers and clients on either side."""
  chain = stage.cluster.serving()
  if len(chain) < 4:
    raise NoVictim("the chain is too short")
  half = stage.dice.sample(chain, 2) + [
      stage.dice.choice(stage.cluster.managers),
      stage.dice.choice(stage.clients)]
  stage.hit(*half)
  everybody = stage.others(None) + stage.clients
  stage.network.cut_both_ways(half, [n for n in everybody if n not in half])


def _cut_link(stage):
  one, other = stage.neighbours()
  stage.hit(one, other)
  stage.network.cut_both_ways([one], [other])


def _cut_link_one_way(stage):
  pair = list(stage.neighbours())
  stage.dice.shuffle(pair)
  stage.hit(*pair)
  stage.network.cut([pair[0]], [pair[1]])


def _cut_clients(stage):
  victim = stage.hit(stage.node("any"))
  stage.network.cut_both_ways([victim], stage.clients)


def _cut_leader_from_etcd(stage):
  stage.network.cut_both_ways([stage.hit(stage.leader())], ["etcd"])


def _cut_node_from_leader(stage):
  victim = stage.hit(stage.node("any"))
  stage.network.cut_both_ways([victim], [stage.leader()])


def _isolate_managers(stage):
  managers = stage.cluster.managers
  stage.hit(*managers)
  stage.network.cut_both_ways(managers, stage.cluster.nodes)


def _heal_network(stage):
  stage.network.heal()


# --- Managers and etcd.

def _kill_leader(stage):
  stage.cluster.crash(stage.hit(stage.leader()))


def _kill_managers(stage):
  for name in stage.cluster.managers:
    stage.cluster.crash(stage.hit(name))


def _pause_leader(stage):
  stage.cluster.pause(stage.hit(stage.leader()))


def _kill_etcd(stage):
  stage.cluster.crash(stage.hit("etcd"))


def _pause_etcd(stage):
  stage.cluster.pause(stage.hit("etcd"))


# --- Disks.

def _fill_node(stage):
  stage.cluster.fill_disk(stage.hit(stage.node("second")))


def _fill_second_and_kill_head(stage):
  """The next head has no room for its undo copy: it stops; another leads."""
  second = stage.node("second")
  if second == stage.node("tail"):
    raise NoVictim("nobody would be left")
  stage.cluster.fill_disk(second)
  stage.cluster.excuse(second)
  head = stage.node("head")
  stage.cluster.crash(head)
  stage.hit(second, head)


def _free_and_revive(stage):
  for name in stage.victims:
    stage.cluster.free_disk(name)
  _revive_if_it_may_join(stage)


def _free(stage):
  for name in stage.victims:
    stage.cluster.free_disk(name)


def _fill_etcd(stage):
  """Etcd ends when it cannot write its log: no view can change."""
  stage.cluster.fill_disk(stage.hit("etcd"))
  stage.cluster.excuse("etcd")


def _free_and_revive_etcd(stage):
  _free(stage)
  stage.cluster.revive("etcd")


# A fault that is over well before the failure timeout costs nothing, one that
# lasts well beyond it costs a node.
SHORT = (0.2, 0.5)
LONG = (1.8, 2.8)
LEADERSHIP_S = 2.0  # the managers' --leader_ttl_s here


def _control(name, inject, heal, lasts, costs=0):
  """A fault of those who decide on views: leaderships may end by it."""
  return Fault(name, inject, heal, lasts, costs, settle_s=LEADERSHIP_S)


FAULTS = [
    Fault("kill head", _kill_role("head"), _revive_if_it_may_join, LONG, 1),
    Fault("kill middle", _kill_role("middle"), _revive_if_it_may_join, LONG,
          1),
    Fault("kill tail", _kill_role("tail"), _revive_if_it_may_join, LONG, 1),
    Fault("lose node and data", _kill_role("any"), _lose_data_and_revive, LONG,
          1),
    Fault("quick restart", _quick_restart, _nothing, LONG,
          0 if SUPPORTED["quick_reboot"] else 1),
    Fault("power cut", _power_cut, _revive_in_any_order, SHORT, 0,
          ("power_cut",)),
    Fault("long power cut", _power_cut_of_all, _revive_in_any_order, LONG, 0,
          ("power_cut",), settle_s=LEADERSHIP_S),
    Fault("pause node, short", _pause_node, _resume, SHORT),
    Fault("pause node, long", _pause_node, _resume, LONG, 1),
    Fault("isolate node", _isolate_node, _heal_network, LONG, 1),
    Fault("isolate node with clients", _isolate_node_and_clients,
          _heal_network, (3, 4), 1),
    _control("split in halves", _split_in_halves, _heal_network, (3, 5), 2),
    Fault("node hears nobody", _deafen_node, _heal_network, LONG, 1),
    Fault("nobody hears node", _mute_node, _heal_network, LONG, 1),
    Fault("cut node from leader", _cut_node_from_leader, _heal_network, LONG,
          1),
    Fault("cut chain link", _cut_link, _heal_network, LONG),
    Fault("cut link one way", _cut_link_one_way, _heal_network, LONG),
    Fault("flapping link", _cut_link, _heal_network, SHORT, times=6),
    Fault("cut clients from node", _cut_clients, _heal_network, LONG),
    Fault("cut managers off", _isolate_managers, _heal_network, LONG),
    _control("kill leader", _kill_leader, _revive, LONG),
    _control("kill all managers", _kill_managers, _revive, SHORT),
    _control("pause leader", _pause_leader, _resume, (3, 4)),
    _control("cut leader from etcd", _cut_leader_from_etcd, _heal_network,
             (3, 4)),
    _control("kill etcd, short", _kill_etcd, _revive, SHORT),
    _control("kill etcd, long", _kill_etcd, _revive, (3, 4)),
    _control("pause etcd", _pause_etcd, _resume, (2, 4)),
    _control("disk full, etcd", _fill_etcd, _free_and_revive_etcd, LONG),
    Fault("disk full, node", _fill_node, _free, LONG),
    Fault("disk full, next head", _fill_second_and_kill_head,
          _free_and_revive, LONG, 2),
]


def usable():
  """The faults whose needs are met."""
  return [f for f in FAULTS if all(SUPPORTED[n] for n in f.needs)]
