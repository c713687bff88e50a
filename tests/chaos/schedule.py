"""Which faults when: decided by a seed alone."""

import collections
import dataclasses
import random

import faults

PER_ROUND = 10
PER_LONG_ROUND = 24  # of a chain that becomes whole again
LOSABLE = 2  # nodes of a chain of four that only shrinks: f
PATIENCE = 0.7  # how often the chain is whole again before the next fault
CALM_S = (0.5, 1.5)  # after a fault was survived


@dataclasses.dataclass(frozen=True)
class Step:
  """A fault of a round."""
  fault: faults.Fault
  lasts: float  # in failure timeouts
  calm_s: float
  patient: bool  # the next fault waits until the chain is whole
  dice_seed: int  # chooses whom it hits

  def __str__(self):
    return f"{self.fault.name} for {self.lasts:.2f} T"


class Schedule:
  """Rounds without end. Every kind comes before any comes again, as far as a
  round can bear the loss of nodes."""

  def __init__(self, seed, kinds=None):
    self._dice = random.Random(seed)
    self._kinds = kinds if kinds is not None else faults.usable()
    self._waiting = collections.deque()

  def next_round(self):
    """A list of Steps for a fresh cluster."""
    whole = faults.SUPPORTED["rejoin"]
    count = PER_LONG_ROUND if whole else PER_ROUND
    budget = LOSABLE
    if len(self._waiting) < count:
      more = [k for k in self._kinds if k not in self._waiting]
      self._dice.shuffle(more)
      self._waiting.extend(more)
    steps, put_off = [], []
    while self._waiting and len(steps) < count:
      fault = self._waiting.popleft()
      cost = 0 if whole else fault.costs
      if cost > budget:
        put_off.append(fault)
        continue
      budget -= cost
      steps.append(Step(fault, self._dice.uniform(*fault.lasts),
                        self._dice.uniform(*CALM_S),
                        self._dice.random() < PATIENCE,
                        self._dice.getrandbits(32)))
    self._waiting.extendleft(reversed(put_off))
    return steps
