"""Decides by a seed alone which faults happen when."""

import collections
import dataclasses
import random

import faults
from fault import LOSABLE

PER_ROUND = 24
PATIENCE = 0.7  # how often the chain is whole again before the next fault
COMPOSED = 0.3  # how often another fault comes while one lasts
TOGETHER = 3  # faults at a time
CALM = (50, 300)  # writes that are acknowledged after a fault was survived
BETWEEN = (1, 60)  # the same between two that are composed; or a moment


@dataclasses.dataclass(frozen=True)
class Part:
  """A fault of a step."""
  fault: object
  lasts: float  # in failure timeouts
  after: int  # writes that are acknowledged before it, since the last part
  dice_seed: int  # chooses whom it hits


@dataclasses.dataclass(frozen=True)
class Step:
  """Faults that are there at a time; of most steps it is one."""
  parts: tuple
  calm: int  # writes after it
  patient: bool  # the next step waits until the chain is whole

  @property
  def name(self):
    return " + ".join(p.fault.name for p in self.parts)

  @property
  def costs(self):
    return sum(p.fault.costs for p in self.parts)

  def __str__(self):
    return " + ".join(f"{p.fault.name} for {p.lasts:.2f} T"
                      for p in self.parts)


def fits(chosen, fault):
  """Whether a fault may come beside those: together they cost no more nodes
  than may be lost, or hold nothing any more."""
  return (not chosen or
          not fault.alone and not any(f.alone for f in chosen) and
          fault not in chosen and
          fault.costs + sum(f.costs for f in chosen) <= LOSABLE)


class Schedule:
  """Rounds without end. Every kind comes before any comes again; first one of
  each family."""

  def __init__(self, seed, kinds=None):
    self._dice = random.Random(seed)
    self._kinds = kinds if kinds is not None else faults.FAULTS
    self._waiting = collections.deque()

  def next_round(self):
    """A list of Steps for a fresh cluster."""
    if len(self._waiting) < PER_ROUND:
      more = [k for k in self._kinds if k not in self._waiting]
      self._dice.shuffle(more)
      self._waiting.extend(faults.in_turn(more))
    steps = []
    while self._waiting and len(steps) < PER_ROUND:
      fault = self._waiting.popleft()
      steps.append(self._step([fault, *self._company(fault)]))
    return steps

  def _company(self, fault):
    """The next faults that fit beside it and begin while it lasts."""
    chosen = [fault]
    while len(chosen) < TOGETHER and self._dice.random() < COMPOSED:
      other = next((f for f in self._waiting if fits(chosen, f)), None)
      if other is None:
        break
      self._waiting.remove(other)
      chosen.append(other)
    return chosen[1:]

  def _step(self, chosen):
    """The longest fault comes first, so that a short one stays short."""
    chosen.sort(key=lambda f: -f.lasts[1])
    parts = tuple(
        Part(f, self._dice.uniform(*f.lasts), self._dice.randint(*BETWEEN),
             self._dice.getrandbits(32)) for f in chosen)
    return Step(parts, self._dice.randint(*CALM),
                self._dice.random() < PATIENCE)
