"""The definition of a fault."""

import dataclasses

# A fault that is over well before the failure timeout costs nothing, one that
# lasts well beyond it costs a node; a lasting one has to be lived with.
SHORT = (0.2, 0.5)
LONG = (1.8, 2.8)
LASTING = (6, 10)

# Nodes that may be out, or have lost what they hold, at a time: f of a chain of
# f + 2. Of the others' copies nothing may be lost.
LOSABLE = 2

EFFECT_S = 20.0  # from a fault to its effect on the chain


def nothing(stage):
  del stage


@dataclasses.dataclass(frozen=True)
class Fault:
  """One kind of fault.

  What a fault does to its victims is checked by what does it (a process that is
  stopped, a packet that does not come, a byte that differs) and raises where it
  was not so; `took` is what it is to do to the chain.

  Attributes:
    name: in tables and schedules.
    inject: function of a Stage.
    heal: function of a Stage; makes good what inject did.
    lasts: (shortest, longest) seconds between the two, in units of the
      failure timeout.
    costs: nodes that may be out of the chain by it, or hold nothing any more.
    times: it is injected and healed that often, on the same victims.
    settles: a leadership may end by it when it is over, as etcd was lost.
    took: function of a Stage: whether the chain shows its effect; it lasts
      until then. None: the chain need not show any.
    effect_s: seconds within which the chain must show the effect.
    goes_on: the chain acknowledges writes while the fault lasts.
    alone: nothing else happens meanwhile, and the chain is whole before.
    missing: function: what this machine lacks for it; "" or None: nothing.
  """
  name: str
  inject: object
  heal: object
  lasts: tuple
  costs: int = 0
  times: int = 1
  settles: bool = False
  took: object = None
  effect_s: float = EFFECT_S
  goes_on: bool = False
  alone: bool = False
  missing: object = None

  @property
  def key(self):
    """Its name in --only."""
    return self.name.replace(",", "")
