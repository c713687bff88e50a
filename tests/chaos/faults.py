"""All kinds of faults."""

import itertools

import media_faults
import network_faults
import process_faults
import store_faults
import surroundings_faults
import time_faults

FAMILIES = [process_faults.FAULTS, network_faults.FAULTS, media_faults.FAULTS,
            store_faults.FAULTS, time_faults.FAULTS,
            surroundings_faults.FAULTS]
FAULTS = [fault for family in FAMILIES for fault in family]


def in_turn(kinds):
  """One of each family after the other, in their order within these."""
  others = [f for f in kinds if f not in FAULTS]
  columns = [[f for f in kinds if f in family] for family in FAMILIES]
  rows = itertools.zip_longest(*columns, others)
  return [f for row in rows for f in row if f is not None]


def not_here(kinds):
  """Faults that this machine cannot inject: name to what it lacks."""
  said = {}  # by function: each tries something
  for fault in kinds:
    if fault.missing is not None and fault.missing not in said:
      said[fault.missing] = fault.missing()
  return {f.name: said[f.missing] for f in kinds
          if f.missing is not None and said[f.missing]}
