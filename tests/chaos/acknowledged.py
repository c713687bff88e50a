"""When writes were acknowledged, from histories while they grow."""

import json

WRITES = {"put", "cas", "patch", "delete", "open", "transfer", "move"}


def _is_write(event):
  """Of an invocation, in either dialect (docs/testing_chaos.md)."""
  if "op" in event:
    return event["op"] in WRITES
  return any(part[0] == "append" for part in event["value"])


class AckWatch:
  """Follows one history file. Times are seconds of time.monotonic()."""

  def __init__(self, path):
    self._path = path
    self._offset = 0
    self._calls = {}  # process to whether its call is a write
    self.acks = []  # times, in the order of the file
    self.counts = {"ok": 0, "fail": 0, "unknown": 0}

  def poll(self):
    """Reads what was added."""
    try:
      with open(self._path, "rb") as f:
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
    if self._calls.pop(process, False) and kind == "ok":
      self.acks.append(event.get("t", event.get("time")) / 1e9)


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
