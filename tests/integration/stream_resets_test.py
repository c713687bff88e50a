"""Clients that begin calls of HTTP/2 and reset them at once, as fast as they
can: their connections end, memory stays bounded, and others are served."""

import socket
import struct
import time

from harness import ClusterTest, main, patience, wait_until

HEADERS, RST_STREAM, SETTINGS = 1, 3, 4
END_HEADERS, CANCEL = 4, 8
SECONDS = 6
# The program's own memory, and an allowance for the time of the measurement.
# Without a bound it is over a GiB by then, and grows on.
MOST_MB = {"manager": 512 + 128, "node": 1280 + 128}
KEPT_MB = 160  # some seconds after it


def frame(kind, flags, stream, payload):
  return (struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) +
          struct.pack(">I", stream) + payload)


def literal(name, value):
  return bytes([0, len(name)]) + name + bytes([len(value)]) + value


def call_of(path):
  return b"".join(literal(name, value) for name, value in (
      (b":method", b"POST"), (b":scheme", b"http"), (b":path", path),
      (b":authority", b"a"), (b"te", b"trailers"),
      (b"content-type", b"application/grpc")))


class Resetting:
  """A connection on which calls are begun and reset."""

  def __init__(self, address, path):
    host, port = address.rsplit(":", 1)
    self.socket = socket.create_connection((host, int(port)),
                                           timeout=patience(10))
    self.socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" +
                        frame(SETTINGS, 0, 0, b""))
    self.call = call_of(path)
    self.stream = 1

  def send_some(self):
    """False: the other end has ended it."""
    burst = b""
    for _ in range(50):
      burst += frame(HEADERS, END_HEADERS, self.stream, self.call)
      burst += frame(RST_STREAM, 0, self.stream, struct.pack(">I", CANCEL))
      self.stream += 2
    try:
      self.socket.sendall(burst)
    except OSError:
      self.socket.close()
      return False
    return True


class StreamResetsTest(ClusterTest):
  start = {"nodes": 3, "heap_mb": 64, "ring_mb": 64}

  def own_mb(self, name):
    pid = self.cluster.state["processes"][name]["pid"]
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
      lines = dict(line.split(":", 1) for line in f)
    return int(lines["RssAnon"].split()[0]) // 1024

  def attack(self, name, address, path, connections):
    """Attacks by so many connections, each again once it is ended; returns how
    often that was."""
    attackers = [Resetting(address, path) for _ in range(connections)]
    before = self.own_mb(name)
    most = ended = 0
    end = time.monotonic() + SECONDS
    at_last = time.monotonic() + patience(10 * SECONDS)
    while time.monotonic() < (end if ended else at_last):
      for i, attacker in enumerate(attackers):
        if not attacker.send_some():
          ended += 1
          attackers[i] = Resetting(address, path)
      most = max(most, self.own_mb(name) - before)
    for attacker in attackers:
      attacker.socket.close()
    self.assertGreater(ended, 0)
    self.assertLess(most, MOST_MB.get(name, MOST_MB["node"]))
    wait_until(lambda: self.own_mb(name) - before < KEPT_MB, 30,
               f"{name} to give the memory back")
    self.assertIn("ends the connection from",
                  self.cluster.log_tail(name, 200))

  def test_manager(self):
    self.attack("manager", self.cluster.operators_addresses[0],
                b"/kamino.internal.v1.MembershipService/Heartbeat", 1)
    self.kamino("put", "k", "v")

  def test_node_by_several(self):
    head = self.cluster.chain()[0][0]
    self.attack(head, self.cluster.addresses_of([head])[0],
                b"/kamino.v1.KaminoService/Get", 4)
    self.kamino("put", "k", "v")


if __name__ == "__main__":
  main()
