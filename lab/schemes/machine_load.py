"""The machine of the measurements, and its other load."""

import glob
import os
import resource

TICKS = os.sysconf("SC_CLK_TCK")


def processor_ticks(stat):
  """(all, idle, stolen) of the text of /proc/stat."""
  words = [int(word) for word in stat.split("\n", 1)[0].split()[1:9]]
  return sum(words), words[3] + words[4], words[7]


def read_ticks():
  with open("/proc/stat", encoding="ascii") as file:
    return processor_ticks(file.read())


def bytes_of(size):
  """Bytes of a size like "260M", as Linux writes it."""
  factor = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(size[-1:])
  return int(size[:-1]) * factor if factor else int(size)


def last_level_cache(folder="/sys/devices/system/cpu/cpu0/cache"):
  """Its bytes; None where the system does not say."""
  levels = []
  for path in glob.glob(os.path.join(glob.escape(folder), "index*")):
    try:
      with (open(os.path.join(path, "level"), encoding="ascii") as level,
            open(os.path.join(path, "size"), encoding="ascii") as size):
        levels.append((int(level.read()), bytes_of(size.read().strip())))
    except (OSError, ValueError):
      continue
  return max(levels)[1] if levels else None


def children_ticks():
  used = resource.getrusage(resource.RUSAGE_CHILDREN)
  return (used.ru_utime + used.ru_stime) * TICKS


def load_between(before, after, own_ticks, processors):
  """Processors that other processes used, and the part that the host took."""
  total, idle, stolen = (b - a for a, b in zip(before, after))
  if total <= 0:
    return {"foreign_processors": 0.0, "steal": 0.0}
  foreign = max(0.0, total - idle - stolen - own_ticks)
  return {"foreign_processors": foreign / total * processors,
          "steal": stolen / total}
