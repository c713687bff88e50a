"""Histories: when writes were acknowledged, and several as one."""

import json

WRITES = {"put", "cas", "patch", "delete", "open", "transfer", "move"}


def _is_write(event):
  """Whether an invocation writes, in either dialect (docs/testing/chaos.md)."""
  if "op" in event:
    return event["op"] in WRITES
  return any(part[0] == "append" for part in event["value"])


class AckWatch:
  """Follows one history file. Times are seconds of time.monotonic()."""

  def __init__(self, path):
    self.path = path
    self._offset = 0
    self._calls = {}  # process to whether its call is a write
    self.acks = []  # of writes: times, in the order of the file
    self.reads = []  # of what only reads, the same
    self.counts = {"ok": 0, "fail": 0, "unknown": 0}

  def poll(self):
    """Reads what was added."""
    try:
      with open(self.path, "rb") as f:
        f.seek(self._offset)
        added = f.read()
    except OSError:
      return
    whole = added.rfind(b"\n") + 1  # the last line may still be written
    self._offset += whole
    for line in added[:whole].splitlines():
      self._take(json.loads(line))

  def _take(self, event):
    kind = event.get("e") or event["type"]
    process = event["p"] if "p" in event else event["process"]
    if kind == "invoke":
      self._calls[process] = _is_write(event)
      return
    self.counts["unknown" if kind == "info" else kind] += 1
    wrote = self._calls.pop(process, None)
    if wrote is not None and kind == "ok":
      (self.acks if wrote else self.reads).append(
          event.get("t", event.get("time")) / 1e9)


def merge(paths, target):
  """One history of several clients' ones, in the order of time.

  A call's time was taken before it was made and an end's after it was known:
  what ended before something was called also does so in the order of times, and
  of equal times calls come first.
  """
  events = []
  for path in paths:
    with open(path, encoding="utf-8") as f:
      for line in f:
        event = json.loads(line)
        called = "invoke" in (event.get("e"), event.get("type"))
        events.append((event.get("t", event.get("time")), not called, line))
  events.sort(key=lambda e: e[:2])
  with open(target, "w", encoding="utf-8") as f:
    f.writelines(line for _, _, line in events)


def longest_gap(acks, begin, end):
  """The longest time without an acknowledgement, and when it began.

  Only of gaps that reach into [begin, end); (0.0, begin) when there is none.
  """
  times = sorted(acks)
  longest, since = 0.0, begin
  for before, after in zip(times, times[1:]):
    if after > begin and before < end and after - before > longest:
      longest, since = after - before, before
  return longest, since
