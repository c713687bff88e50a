"""The paper's marks beside what came out, and whether each holds here.

A mark is of the medians of one run. `holds` is None where what it is of was
not measured.
"""

import figures

KAMINO, SIMPLE = "kamino", "kamino-simple"
RIVAL = "traditional-log"
WRITES = ("ycsb-a", "ycsb-f")
READS = "ycsb-c"
TIMES = 2.2
EQUAL = 0.05
DEPENDENT_MEAN, DEPENDENT_WRITES = 1.08, 1.30
TPCC = 1.4
PER_DOLLAR = 8.6
PAPERS_STORAGE = 4 / 3  # (f + 2) / (f + 1) for f = 2, without alpha

# Why a mark does not hold here, by its name: for pages that are made anew.
REASONS = {}


def mark(name, paper, value, holds, note=""):
  return {"name": name, "paper": paper, "here": value,
          "holds": None if value is None else bool(holds(value)),
          "note": note, "reason": REASONS.get(name, "")}


def spread_of(*rows):
  return max((row["spread"] for row in rows if row is not None), default=0)


def noise(*rows):
  return f"spread {100 * spread_of(*rows):.0f} %"


def of_ycsb(results, failures):
  """Figures 17 and 18."""
  def rows(workload, outstanding):
    return [figures.row(results, workload, subject, failures,
                        outstanding=outstanding)
            for subject in (KAMINO, RIVAL)]

  for workload in WRITES:
    ours, theirs = rows(workload, 1)
    yield mark(f"{workload}: mean latency of {RIVAL} over {KAMINO}'s, one "
               "outstanding", f"up to {TIMES}",
               figures.ratio(theirs, ours, "mean_us"), lambda v: v >= TIMES,
               noise(ours, theirs))
    most = figures.most_outstanding(results, workload, failures)
    ours, theirs = rows(workload, most)
    yield mark(f"{workload}: throughput of {KAMINO} over {RIVAL}'s, "
               f"{most or 'most'} outstanding", f"up to {TIMES}",
               figures.ratio(ours, theirs, "ops_per_s"), lambda v: v >= TIMES,
               noise(ours, theirs))
    busiest = figures.busiest(theirs), figures.busiest(ours)
    yield mark(f"{workload}: the busiest node's processor time of {RIVAL} over "
               f"{KAMINO}'s, {most or 'most'} outstanding",
               f"{TIMES}, were each node alone on its machine",
               busiest[0] / busiest[1] if all(busiest) else None,
               lambda v: v >= TIMES)
  for outstanding, field, what in ((1, "mean_us", "mean latency"),
                                   (None, "ops_per_s", "throughput")):
    load = outstanding or figures.most_outstanding(results, READS, failures)
    ours, theirs = rows(READS, load)
    margin = max(EQUAL, spread_of(ours, theirs))
    yield mark(f"{READS}: {what} of {KAMINO} over {RIVAL}'s, "
               f"{load or 'most'} outstanding", "equal",
               figures.ratio(ours, theirs, field),
               lambda v, m=margin: abs(v - 1) <= m, noise(ours, theirs))


def of_tree(results, failures):
  """Section 7.1: bursts over spaced, of one key."""
  rates = dict.fromkeys(
      r["offered_per_s"] for r in results["measurements"]
      if r["suite"] == "tree" and r["failures"] == failures)
  for rate in rates:
    def in_bursts(subject, field, which="", rate=rate):
      bursts, spaced = (
          figures.row(results, f"tree-{how}{which}", subject, failures,
                      offered_per_s=rate) for how in ("bursts", "spaced"))
      return figures.ratio(bursts, spaced, field)

    for subject, field, what, paper, holds in (
        (KAMINO, "mean_us", "all operations", "+8 %",
         lambda v: v <= DEPENDENT_MEAN),
        (KAMINO, "writes_mean_us", "inserts", "over +30 %",
         lambda v: v > DEPENDENT_WRITES),
        (RIVAL, "mean_us", "all operations", "unchanged",
         lambda v: abs(v - 1) <= EQUAL)):
      any_key = in_bursts(subject, field, "-any")
      yield mark(f"tree, {rate:.0f} a second: {subject}, mean latency of "
                 f"{what} in bursts over spaced", paper,
                 in_bursts(subject, field),
                 holds, "of different keys: "
                 + ("-" if any_key is None else f"{any_key:.2f}"))


def of_tpcc(results, failures):
  """The paper has TPC-C on one machine only."""
  ours, theirs = (figures.row(results, "tpcc", subject, failures, outstanding=1)
                  for subject in (KAMINO, RIVAL))
  yield mark(f"TPC-C's mix: throughput of {KAMINO} over {RIVAL}'s, one "
             "terminal", f"{TPCC}, on one machine",
             figures.ratio(ours, theirs, "ops_per_s"), lambda v: v >= TPCC,
             noise(ours, theirs))


def of_costs(results, failures):
  """Figure 16, which is of one machine; here of chains."""
  for how in ("measured", "apart"):
    def per_dollar(workload, how=how):
      return {c["subject"]: c[how] for c in results["costs"]
              if c["workload"] == workload and c["failures"] == failures
              and c[how] is not None}
    a, b = per_dollar("ycsb-a"), per_dollar("ycsb-b")
    best = max((a[s] for s in a if s != SIMPLE), default=None)
    yield mark(f"ycsb-a for the money, {how}: {SIMPLE} over the best of the "
               "others", "best", a[SIMPLE] / best if SIMPLE in a and best
               else None, lambda v: v >= 1)
    yield mark(f"ycsb-a for the money, {how}: {SIMPLE} over {RIVAL}",
               f"up to {PER_DOLLAR}, on one machine",
               a[SIMPLE] / a[RIVAL] if SIMPLE in a and RIVAL in a else None,
               lambda v: v >= PER_DOLLAR)
    best = max((b[s] for s in b if s != KAMINO), default=None)
    yield mark(f"ycsb-b for the money, {how}: {KAMINO} (dynamic) over the best "
               "of the others", "may be best",
               b[KAMINO] / best if KAMINO in b and best else None,
               lambda v: v >= 1)


def of_storage(results, failures):
  """Table 1, and the 33 % of section 7.3."""
  stored = {s["subject"]: s for s in results["storage"]
            if s["failures"] == failures}
  both = [stored.get(KAMINO), stored.get(RIVAL)]
  for field, what in (("by_formula", "by formula"), ("by_files", "of files"),
                      ("by_use", "of what is used")):
    value = both[0][field] / both[1][field] if all(both) else None
    yield mark(f"storage of {KAMINO} over {RIVAL}'s, {what}",
               f"{PAPERS_STORAGE:.2f}, without alpha", value,
               lambda v: v <= PAPERS_STORAGE + 0.005)


def of(results, failures):
  return [each for group in (of_ycsb, of_tree, of_tpcc, of_costs, of_storage)
          for each in group(results, failures)]
