"""Inside a machine: how long a message takes over rxe0, one way.

  latency.py ROUNDS PROGRAMS

perftest's tools and a verbs link take turns, each between two queue pairs of
the device, so that whatever else the machine does hits all alike. Prints the
rounds, then medians and lowest ones with their ratios. Where the host is busy
both ends may have to share one processor of it, and wait milliseconds for each
other: then only the lowest say something.

What differs: ib_write_lat writes and its peer polls the memory, so nothing
completes at the receiver. ib_send_lat and the link complete there.
"""

import json
import statistics
import subprocess
import sys
import time

DEVICE = "rxe0"
BYTES = 64
MESSAGES = 1000
TIMEOUT_S = 60
ATTEMPTS = 5  # of a measurement
PERFTEST = ["ib_write_lat", "ib_send_lat"]
LINK = "link"


def run(words):
  return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                        text=True, check=False, timeout=TIMEOUT_S)


def typical(output):
  """Of "bytes, messages, minimum, maximum, typical", in microseconds.

  Nothing when perftest could not find out how fast the processor's clock ticks.
  """
  for line in output.splitlines():
    fields = line.split()
    if fields[:2] == [str(BYTES), str(MESSAGES)] and fields[4] != "inf":
      return float(fields[4]) or None
  return None


def perftest(tool):
  words = [tool, "-d", DEVICE, "-F", "-n", str(MESSAGES), "-s", str(BYTES)]
  output = ""
  for _ in range(ATTEMPTS):
    with subprocess.Popen(words, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as server:
      deadline = time.monotonic() + TIMEOUT_S
      while True:  # until the server listens
        done = run([*words, "127.0.0.1"])
        if done.returncode == 0 or server.poll() is not None:
          break
        if time.monotonic() > deadline:
          break
      if done.returncode != 0:
        server.kill()
    output = done.stdout
    found = typical(output) if done.returncode == 0 else None
    if found is not None:
      return found
  sys.exit(f"latency: {tool}:\n{output}")


def link(programs):
  done = run([f"{programs}/bench/transport/bench_transport", "--links=verbs",
              f"--verbs_device={DEVICE}", f"--sizes={BYTES}", "--rounds=1",
              "--quick", "--json"])
  try:
    rows = json.loads(done.stdout[done.stdout.index("{"):])["measurements"]
    row, = (row for row in rows if row["link"] == "verbs")
  except ValueError:
    sys.exit(f"latency: bench_transport: exit {done.returncode}:\n"
             f"{done.stdout}")
  return row["round_trip_p50_ns"] / 2000  # as perftest has it


def summary(name, figures):
  latencies = ", ".join(f"{each} {us:.1f}" for each, us in figures.items())
  ratios = ", ".join(f"{LINK} to {tool} {figures[LINK] / figures[tool]:.2f}"
                     for tool in PERFTEST)
  return f"{name} us: {latencies} ({ratios})"


def main():
  rounds, programs = int(sys.argv[1]), sys.argv[2]
  measure = {**{tool: lambda t=tool: perftest(t) for tool in PERFTEST},
             LINK: lambda: link(programs)}
  found = {name: [] for name in measure}
  for i in range(rounds):
    # Each goes first in some round.
    names = list(measure)[i % len(measure):] + list(measure)[:i % len(measure)]
    for name in names:
      found[name].append(measure[name]())
    print(f"round {i + 1}: " + ", ".join(
        f"{name} {found[name][-1]:.2f} us" for name in measure))
  print("; ".join(
      summary(name, {each: of(found[each]) for each in measure})
      for name, of in (("median", statistics.median), ("lowest", min))))


if __name__ == "__main__":
  main()
