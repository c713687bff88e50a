"""Measurements, found by their fields."""

NODES = ("head", "middle", "tail")  # how the names of nodes' roles begin


def row(results, workload, subject, failures, **others):
  """The measurement of that; None: there is none, or nothing went well."""
  wanted = {"workload": workload, "subject": subject, "failures": failures,
            "delay_ns": 0, **others}
  for measured in results["measurements"]:
    if (all(measured.get(key) == value for key, value in wanted.items())
        and measured["ops_per_s"] and measured["p50_us"]):
      return measured
  return None


def ratio(a, b, field):
  """Ratio of a field of two measurements; None: not known."""
  if a is None or b is None or not b[field]:
    return None
  return a[field] / b[field]


def node_times(measured):
  """Processor time of each node for each operation, in us, head first."""
  return {role: time for role, time in measured["processor_us_per_op"].items()
          if role.startswith(NODES)}


def busiest(measured):
  """The largest of the nodes' times; None: not known."""
  if measured is None:
    return None
  return max(node_times(measured).values(), default=None)


def all_nodes(measured):
  return None if measured is None else sum(node_times(measured).values())


def most_outstanding(results, workload, failures):
  """The heaviest closed load that was measured; None: none was."""
  return max((r["outstanding"] for r in results["measurements"]
              if r["workload"] == workload and r["failures"] == failures
              and r["delay_ns"] == 0 and r["outstanding"]), default=None)
