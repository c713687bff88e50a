"""A fault's place: its victims, and their expected ends."""


class NoVictim(Exception):
  """The fault cannot be injected now; one line."""


class Stage:
  """State of one fault: the cluster, dice, and what is to be healed.

  Attributes:
    victims: names that it has hit.
    cuts: its cuts (network.Cut).
    ends: name to texts; a node may end by itself, if its log says one of them.
    away: nodes that are to leave the chain by it.
    held: threads that it has stopped.
    kept: data from inject for heal.

  Args:
    taken: names that other faults have hit and not healed yet.
  """

  def __init__(self, cluster, clients, dice, taken=()):
    self.cluster = cluster
    self.network = cluster.network
    self.clients = list(clients)
    self.dice = dice
    self.taken = set(taken)
    self.victims = []
    self.cuts = []
    self.ends = {}
    self.away = []
    self.held = []
    self.kept = {}

  def hit(self, *names):
    """Notes the victims; returns the first of them."""
    for name in names:
      if name in self.taken:
        raise NoVictim(f"{name} is hit by another fault already")
    ended = [n for n in names if n in self.cluster.operator.expected_ends()]
    if ended:
      raise NoVictim(f"the operator has yet to restart {' '.join(ended)}")
    self.victims.extend(n for n in names if n not in self.victims)
    return names[0]

  def chain(self):
    """The members that serve, head first."""
    chain = self.cluster.serving()
    if not chain:
      raise NoVictim("the chain is not serving")
    return chain

  def node(self, role):
    """The node that has a role now; head, middle, tail, second or any."""
    chain = self.chain()
    inner = chain[1:-1] or chain[-1:]
    if role == "any":
      return self.dice.choice(self.free(chain))
    return {"head": chain[0], "tail": chain[-1],
            "second": chain[min(1, len(chain) - 1)],
            "middle": inner[self.dice.randrange(len(inner))]}[role]

  def free(self, names):
    """The names that no other fault has hit."""
    free = [n for n in names if n not in self.taken]
    if not free:
      raise NoVictim("all are hit by other faults")
    return free

  def neighbours(self):
    if self.victims:
      return self.victims
    chain = self.chain()
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

  def parties(self):
    return self.others(None) + self.clients

  # --- What faults of several kinds do.

  def cut(self, sources, receivers):
    self.cuts.append(self.network.cut(sources, receivers))

  def cut_both_ways(self, some, others):
    self.cut(some, others)
    self.cut(others, some)

  def heal_network(self):
    for cut in self.cuts:
      self.network.heal(cut)
    self.cuts = []

  def may_end(self, name, *texts):
    """The operator then does what its runbook says (operator_acts.py)."""
    self.ends[name] = texts


def left(stage):
  """Whether the chain goes on without the nodes that are to leave it."""
  chain = stage.cluster.serving()
  return bool(chain) and not set(chain) & set(stage.away)
