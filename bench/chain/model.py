"""Table 1's latencies: a hop, a transaction and a copy, fitted.

The paper has l_n for a hop, l_t for a transaction's execution and l_c for a
copy, and says that each node of a chain adds l_n + l_t to a put's latency, a
traditional one's l_c as well. Over chains of several lengths that sum is the
slope of a line.
"""

import figures

WORKLOAD = "put"
ALONE = 1  # operations under way


def line(points):
  """Slope and height at 0 of the line closest to (x, y); None for none."""
  if len({x for x, _ in points}) < 2:
    return None
  mean_x = sum(x for x, _ in points) / len(points)
  mean_y = sum(y for _, y in points) / len(points)
  slope = (sum((x - mean_x) * (y - mean_y) for x, y in points)
           / sum((x - mean_x) ** 2 for x, _ in points))
  return slope, mean_y - slope * mean_x


def middle(row):
  """A node's processor time that is neither head nor tail, in us."""
  times = [time for role, time in figures.node_times(row).items()
           if role.startswith("middle")]
  return sum(times) / len(times) if times else None


def of(results):
  """For each subject, the time that a node adds to a put, and the rest."""
  found = []
  for subject in dict.fromkeys(s["name"] for s in results["subjects"]):
    points, times = [], []
    for chain in results["subjects"]:
      if chain["name"] != subject:
        continue
      alone = figures.row(results, WORKLOAD, subject, chain["failures"],
                          outstanding=ALONE)
      if alone is None:
        continue
      points.append((chain["nodes"], alone["p50_us"]))
      most = figures.most_outstanding(results, WORKLOAD, chain["failures"])
      loaded = figures.row(results, WORKLOAD, subject, chain["failures"],
                           outstanding=most)
      time = None if loaded is None else middle(loaded)
      if time is not None:
        times.append(time)
    fitted = line(points)
    if fitted is None:
      continue
    found.append({
        "subject": subject, "points": points, "node_us": fitted[0],
        "rest_us": fitted[1],
        # Time of a middle node under the heaviest load, when it rarely has to
        # wake up: the execution, l_t plus the l_c of its copy.
        "executes_us": sum(times) / len(times) if times else None})
  slopes = {entry["subject"]: entry["node_us"] for entry in found}
  for entry in found:
    executes = entry["executes_us"]
    entry["hop_us"] = None if executes is None else entry["node_us"] - executes
    entry["beyond_kamino_us"] = (
        entry["node_us"] - slopes["kamino"] if "kamino" in slopes else None)
  return found
