"""Marks of REWIND (marks.py)."""

import statistics

from marks import (NOWHERE, UNDEFINED, Note, crossing, gaps, is_number, less,
                   mark, percent, ratio, uncrossed)

ONE = "rewind-1-{}-optimized"
LONG = "+alone,checkpoint=1000000000"
MEMORIES = ("150 ns a line", "as it is")  # REWIND's, and this machine's
SKIPS = (10, 150, 300)
FORMS = ("simple", "optimized", "batch")
GROUPS = (8, 16, 32)
LEAST_EXCESS = 0.05
# Suffix of measures that include flushing what was put off (part.h).
ALL_HOME = ", all home"


def where(falls_behind, stays):
  """Where the lines cross; NOWHERE if both were measured and do not cross."""
  crosses = crossing(falls_behind, stays)
  return NOWHERE if crosses is None and gaps(falls_behind, stays) else crosses


def of_logging(points, memory):
  def time(layers, policy, part, home=""):
    return points.value("rewind-3-left",
                        f"rewind-{layers}-{policy}-optimized+alone",
                        "ns an update" + home, memory=memory, x=part)

  def bare(part):
    return points.value("rewind-3-left", "unsafe-each", memory=memory, x=part)

  one, two = (ratio(time(layers, "noforce", 0.1), bare(0.1))
              for layers in (1, 2))
  name = f"REWIND fig. 3 left, {memory}: "
  yield mark(name + "one layer over unsafe-each, 10 % stores, its data still "
             "in the cache", "1.5", "<= 1.5", one, lambda v: v <= 1.5)
  yield mark(name + "one layer over unsafe-each, 10 % stores, its data brought "
             "home", "-", "<= 1.5",
             ratio(time(1, "noforce", 0.1, ALL_HOME), bare(0.1)),
             lambda v: v <= 1.5)
  yield mark(name + "two layers over unsafe-each, 10 % stores", "8.5", "", two)
  yield mark(name + "two layers over one, 10 % stores", "5.7", ">= 4",
             ratio(two, one), lambda v: v >= 4)
  yield mark(name + "stores only, two layers over one", "-", "",
             ratio(time(2, "noforce", 1.0), time(1, "noforce", 1.0)))
  for layers, paper in ((1, "2 to 35 %"), (2, "24 to 74 %")):
    costs = [ratio(time(layers, "force", part), time(layers, "noforce", part))
             for part in (0.1, 1.0)]
    known = [100 * (c - 1) for c in costs if is_number(c)]
    yield mark(name + f"what force adds, {layers} layer{'s'[:layers - 1]}, %",
               paper, "", max(known, default=None),
               note=f"from {min(known):.0f} %" if known else "")


def of_skips(points, memory):
  for figure, what, paper in (("rewind-3-right", "commits", "600"),
                              ("rewind-4-left", "rollbacks", "400")):
    label = "fig. 3 right" if what == "commits" else "fig. 4 left"
    two = points.line(figure, "rewind-2-force-optimized+alone", memory)
    printed = points.line(figure, "rewind-1-force-optimized+scans,alone",
                          memory)
    kept = points.line(figure, "rewind-1-force-optimized+alone", memory)
    yield mark(f"REWIND {label}, {memory}: {what}, one layer that looks "
               "through the log falls behind two from so many skip records on",
               paper,
               "100 to 1000", where(printed, two),
               lambda v: 100 <= v <= 1000,
               uncrossed("that layer", printed, two))
    beyond = [a / b for (_, a), (_, b) in zip(kept, two)]
    yield mark(f"REWIND {label}, {memory}: {what}, one layer that remembers "
               "its records over two, at most", "-", "< 1: no crossing",
               max(beyond, default=None), lambda v: v < 1)
  one, two = (points.line("rewind-4-right",
                          f"rewind-{layers}-force-optimized+keeps,alone",
                          memory) for layers in (1, 2))
  worst = [a / b for (_, a), (_, b) in zip(one, two)]
  yield mark(f"REWIND fig. 4 right, {memory}: recovery, one layer over two, at "
             "most", "always less", "< 1", max(worst, default=None),
             lambda v: v < 1)


def of_totals(points, memory):
  for skips in SKIPS:
    free, forced = (
        points.line("rewind-5", f"{ONE.format(policy)}+{more}, {skips} skips",
                    memory)
        for policy, more in (("noforce", "alone"), ("force", "keeps,alone")))
    yield mark(f"REWIND fig. 5, {memory}: part recovered from which on force "
               f"is less, {skips} skips", "low", "lines cross",
               where(free, forced),
               lambda v: 0 < v <= 1, uncrossed("no force", free, forced))


def costs_of(line):
  """By x, the cost in % relative to that at 0."""
  if not line.get(0):
    return {}
  return {x: 100 * (value / line[0] - 1) for x, value in line.items() if x}


def noise_of(rounds):
  """How many % points half of the rounds' costs at least are away from their
  median; the most of all x."""
  by_round = [costs_of(dict(zip(rounds, values)))
              for values in zip(*rounds.values())]
  def of_x(x):
    costs = [costs[x] for costs in by_round if x in costs]
    middle = statistics.median(costs)
    return statistics.median(abs(cost - middle) for cost in costs)
  return max((of_x(x) for x in rounds if x and by_round), default=0)


def falling(costs, noise):
  """Whether they end lower, and nowhere climb by more than noise."""
  climbs = [later - costs[i] for i in range(len(costs))
            for later in costs[i + 1:]]
  return len(costs) > 1 and costs[0] > costs[-1] and max(climbs) <= noise


def of_checkpoints(points, memory):
  costs, noise = {}, {}
  for form in FORMS:
    series = f"rewind-1-noforce-{form}{LONG}"
    costs[form] = costs_of(dict(points.line("rewind-6", series, memory)))
    noise[form] = noise_of(points.rounds("rewind-6", series, memory))
  papers = {"simple": "79 to 60 %", "optimized": "32 to 9 %",
            "batch": "20 to 3 %"}
  name = f"REWIND fig. 6, {memory}: "
  for form in FORMS:
    each = [costs[form][x] for x in sorted(costs[form])]
    def falls(_, each=tuple(each), most=noise[form]):
      return falling(each, most)
    yield mark(name + f"checkpoints, {form}: what the most frequent cost, %",
               papers[form], "falling", each[0] if each else None, falls,
               "the less frequent ones "
               + ", ".join(f"{cost:.0f}" for cost in each[1:])
               + f"; a climb of {noise[form]:.0f} is noise" if each else "")
  yield order_of_forms(costs, name)


def order_of_forms(costs, name):
  simple, optimized, batch = (costs[form] for form in FORMS)
  everywhere = sorted(set(simple) & set(optimized) & set(batch))
  least = min((min(simple[x] - optimized[x], optimized[x] - batch[x])
               for x in everywhere), default=None)
  return mark(name + "checkpoints, the forms' order at all frequencies: least "
              "by which one costs more than the next, % points",
              "12 and 6 at the ends", "> 0: simple, optimized, batch", least,
              lambda v: v > 0)


def of_tree(points, memory):
  def time(series, home=""):
    return points.value("rewind-7", series, "ns an operation" + home,
                        memory=memory, x=1.0)

  simple = time(f"rewind-1-noforce-simple{LONG}")
  for form, paper, least in (("optimized", 27, 20), ("batch", 37, 30)):
    value = less(time(f"rewind-1-noforce-{form}{LONG}"), simple)
    yield mark(f"REWIND fig. 7, {memory}: {form} less than simple, all "
               "updates, %", str(paper), f">= {least}",
               percent(value),
               lambda v, least=least: v >= least)
  for rival in ("undo-object", "unsafe-each", "cached"):
    batch = f"rewind-1-noforce-batch{LONG}"
    yield mark(f"REWIND fig. 7, {memory}: batch over {rival}, all updates, all "
               "home", "-", "", ratio(time(batch, ALL_HOME), time(rival)),
               note=Note("its data still in the cache: {}",
                         ratio(time(batch), time(rival))))


def of_fences(points):
  optimized = f"rewind-1-noforce-optimized{LONG}"
  for figure, what in (("rewind-10-tree", "a tree's, one operation each"),
                       ("rewind-10-tree-32", "a tree's, 32 operations each"),
                       ("rewind-10-words", "of 320 words each")):
    def slowdowns(series, figure=figure):
      line = dict(points.line(figure, series, "as it is"))
      return {x: value / line[0] for x, value in line.items()
              if line.get(0) and x > 0}

    slower = slowdowns(optimized)
    name = f"REWIND fig. 10, transactions {what}: "
    if not slower:
      yield mark(name + "excess of a doubled group, least", "1.97, 1.78",
                 ">= 1.7", None, lambda v: v >= 1.7)
      continue
    # The text has no axis: where optimized is as slow as there.
    at = min(slower, key=lambda x: abs(slower[x] - 5))
    excess = {}
    for group in GROUPS:
      series = (f"rewind-1-noforce-batch+group={group},"
                f"{LONG[1:]}")
      excess[group] = slowdowns(series)[at] - 1
    yield mark(name + f"optimized, {at:.0f} ns more a drain, slower by", "5",
               "", slower[at],
               note=Note("groups of 8, 16, 32: {}, {}, {} (paper 1.63, 1.32, "
                         "1.18)", *(1 + excess[g] for g in GROUPS)))
    # One that is not slowed down says nothing, whatever it is divided by.
    known = min(excess.values()) > LEAST_EXCESS
    falls = [excess[a] / excess[b] for a, b in zip(GROUPS, GROUPS[1:])
             if known]
    yield mark(name + "excess of a doubled group falls, least", "1.97, 1.78",
               ">= 1.7", min(falls, default=UNDEFINED), lambda v: v >= 1.7,
               "" if known else "a group is not slowed down")


def of_tpcc(points, memory):
  def rate(store, layout):
    return points.value("rewind-11", f"{store}, {layout}", memory=memory)

  bare = rate("unsafe", "one tree")
  name = f"REWIND fig. 11, {memory}: "
  for store in ("rewind-1-noforce-batch", "rewind-1-noforce-optimized",
                "rewind-2-noforce-optimized"):
    same = ratio(bare, rate(store, "one tree"))
    each = ratio(rate("unsafe-each", "one tree"), rate(store, "one tree"))
    over_it = name + f"new orders, unsafe over {store}, one tree both"
    yield mark(over_it, "7.37", "< 7.37", same, lambda v: v < 7.37,
               Note("unsafe-each over it: {}", each))
    yield mark(over_it + ": the aim", "1.39, of two layouts", "<= 1.39", same,
               lambda v: v <= 1.39)
    yield mark(name + f"new orders, unsafe with one tree over {store} by "
               "district", "1.39", "",
               ratio(bare, rate(store, "by district")))
    yield mark(name + f"new orders, {store}: by district over one tree", "5.3",
               "", ratio(rate(store, "by district"), rate(store, "one tree")))


def of(points):
  groups = (of_logging, of_skips, of_totals, of_checkpoints,
            of_tree, of_tpcc)
  return [each for memory in MEMORIES for group in groups
          for each in group(points, memory)] + list(of_fences(points))
