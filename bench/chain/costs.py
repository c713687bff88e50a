"""Operations for a unit of money, by a stated list of prices."""

import json

import figures

WORKLOADS = ("ycsb-a", "ycsb-b")  # the paper's figure 16
POSITIVE = ("processor_hour", "memory_gib_hour", "processors_of_a_node",
            "data_gib")
SECONDS = 3600


def read(path):
  """A list of prices. ValueError says what is wrong with it."""
  with open(path, encoding="utf-8") as file:
    prices = json.load(file)
  if not isinstance(prices, dict):
    raise ValueError("an object is wanted")
  for name in POSITIVE:
    value = prices.get(name)
    if (isinstance(value, bool) or not isinstance(value, (int, float))
        or value <= 0):
      raise ValueError(f"{name} has to be a number over 0")
  for name in ("about", "currency"):
    if not isinstance(prices.get(name), str):
      raise ValueError(f"{name} has to be a text")
  return prices


def an_hour(prices, nodes, times_data):
  """Price of a chain whose nodes are machines of their own."""
  return (nodes * prices["processors_of_a_node"] * prices["processor_hour"]
          + times_data * prices["data_gib"] * prices["memory_gib_hour"])


def of(results, failures):
  """The operations for the money, by workload and subject.

  `measured` is by the throughput of this machine, whose processors all nodes
  share; `apart` by what the busiest node's processor time allows, were each
  node on a machine of its own and its work on one thread, as it is.
  """
  prices, found = results["prices"], []
  for workload in WORKLOADS:
    most = figures.most_outstanding(results, workload, failures)
    for stored in results["storage"]:
      row = figures.row(results, workload, stored["subject"], failures,
                        outstanding=most)
      if stored["failures"] != failures or row is None:
        continue
      hour = an_hour(prices, stored["nodes"], stored["by_formula"])
      busiest = figures.busiest(row)
      found.append({
          "workload": workload, "subject": stored["subject"],
          "failures": failures, "outstanding": most, "an_hour": hour,
          "measured": row["ops_per_s"] * SECONDS / hour,
          "apart": 1e6 / busiest * SECONDS / hour if busiest else None})
  return found
