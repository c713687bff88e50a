"""Wall clocks that are set, of any processes but etcd's, which takes no
library: no process may notice."""

from fault import LASTING, Fault
from wall_clock import cannot_step

HOUR_S = 3600
STEPS_S = (-HOUR_S, -60, -2, 2, 60, HOUR_S)


def _step(stage):
  """Of one, of some, or of all; to different times."""
  names = stage.free([n for n in stage.parties() if n != "etcd"])
  count = stage.dice.choice((1, 3, len(names)))
  for name in stage.dice.sample(names, min(count, len(names))):
    stage.cluster.step_clock(stage.hit(name), stage.dice.choice(STEPS_S))


def _set_right(stage):
  for name in stage.victims:
    stage.cluster.step_clock(name, 0)


FAULTS = [
    Fault("step clocks", _step, _set_right, LASTING, goes_on=True,
          missing=cannot_step),
]
