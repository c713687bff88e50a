"""Runs commands inside a virtual machine for the host.

One JSON object a line, in both directions, over a virtual serial port:
  {"id": 7, "argv": ["ls"], "timeout": 5}
  {"id": 7, "code": 0, "output": ""}
Commands run side by side. What they do is also told on the console.
"""

import glob
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time

PORTS = "/dev/vport*"
MAX_OUTPUT = 256 << 10  # bytes of a command's end that are sent back
TIMED_OUT = 124  # the exit code, as timeout(1) has it


def run(argv, timeout, tell):
  """Exit code and output, both streams in one; calls tell(line) meanwhile."""
  try:
    process = subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, start_new_session=True)
  except OSError as error:
    return 127, f"{argv[0]}: {error.strerror}\n".encode()
  overdue = threading.Event()
  def end():
    overdue.set()
    os.killpg(process.pid, signal.SIGKILL)
  timer = threading.Timer(timeout, end)
  timer.start()
  output = b""
  for line in process.stdout:
    tell(line.decode(errors="replace").rstrip("\n"))
    output = (output + line)[-MAX_OUTPUT:]
  code = process.wait()
  timer.cancel()
  if overdue.is_set():
    return TIMED_OUT, output + f"ended after {timeout:g} s\n".encode()
  return code, output


class Agent:
  """Serves one port."""

  def __init__(self, port, console):
    self._port = port
    self._console = console
    self._lock = threading.Lock()  # of both

  def _send(self, message):
    with self._lock:
      self._port.write(json.dumps(message).encode() + b"\n")

  def _tell(self, text):
    with self._lock:
      self._console.write(f"[{time.monotonic():.1f}] {text}\n".encode(
          errors="replace"))

  def _serve(self, request):
    number, words = request["id"], " ".join(request["argv"])
    def tell(line):
      self._tell(f"{number}: {line}")
    tell(f"$ {words}")
    code, output = run(request["argv"], request["timeout"], tell)
    tell(f"exit {code}")
    self._send({"id": number, "code": code,
                "output": output.decode(errors="replace")})

  def serve(self):
    self._send({"id": 0, "code": 0, "output": "ready"})
    for line in self._port:
      threading.Thread(target=self._serve, args=(json.loads(line),),
                       daemon=True).start()


def main():
  resource.setrlimit(resource.RLIMIT_MEMLOCK,
                     (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
  names = glob.glob(PORTS)
  if len(names) != 1:
    sys.exit(f"agent: {len(names)} ports, not one")
  with open(names[0], "r+b", buffering=0) as port, \
       open("/dev/console", "wb", buffering=0) as console:
    Agent(port, console).serve()


if __name__ == "__main__":
  main()
