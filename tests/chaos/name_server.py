"""A name server under the tester's control, which can hang or answer late.

A name server that hangs keeps the queries and answers them once it goes on, as
a process does that was stopped.
"""

import collections
import heapq
import itertools
import select
import socket
import struct
import threading
import time

PORT = 53
MOST_HELD = 4096  # queries without an answer; further ones are lost
TTL_S = 1
A_RECORD, INTERNET = 1, 1
ANSWER, NO_SUCH_NAME = 0x8180, 0x8183
HEADER = struct.Struct(">HHHHHH")
QUESTION_END = struct.Struct(">HH")


def question(name, number):
  """The query for a name's IPv4 address."""
  labels = b"".join(bytes([len(part)]) + part.encode()
                    for part in name.split("."))
  return (HEADER.pack(number, 0x0100, 1, 0, 0, 0) + labels + b"\0" +
          QUESTION_END.pack(A_RECORD, INTERNET))


def answer_to(query, table):
  """The answer to a query, by `table` (name to address); None for bytes that
  are no query."""
  labels, at = [], HEADER.size
  try:
    while query[at]:
      labels.append(query[at + 1:at + 1 + query[at]].decode("latin1").lower())
      at += 1 + query[at]
    kind, _ = QUESTION_END.unpack_from(query, at + 1)
    number, = struct.unpack_from(">H", query)
  except (IndexError, struct.error):
    return None
  asked = query[HEADER.size:at + 1 + QUESTION_END.size]
  address = table.get(".".join(labels))
  if address is None:
    return HEADER.pack(number, NO_SUCH_NAME, 1, 0, 0, 0) + asked
  if kind != A_RECORD:
    return HEADER.pack(number, ANSWER, 1, 0, 0, 0) + asked
  record = (b"\xc0\x0c" + struct.pack(">HHIH", A_RECORD, INTERNET, TTL_S, 4) +
            socket.inet_aton(address))
  return HEADER.pack(number, ANSWER, 1, 1, 0, 0) + asked + record


class NameServer:
  """Serves from its construction to close(). Thread-safe.

  Args:
    endpoint: a datagram socket, bound; closed by close().
    table: name to IPv4 address.
  """

  def __init__(self, endpoint, table):
    self._endpoint = endpoint
    self._table = table
    self._wakes, self._waker = socket.socketpair()
    self._thread = threading.Thread(target=self._serve, daemon=True)
    # Guarded by _lock.
    self._lock = threading.Lock()
    self._ends = False
    self._delay_s = 0.0  # None: it hangs
    self._held = []  # heap of (when it is due or infinite, number, bytes, peer)
    self._numbers = itertools.count()
    self._asked = collections.Counter()  # by host, since the last _become
    self._answered = collections.Counter()
    self._thread.start()

  def hang(self):
    self._become(None)

  def slow(self, delay_s):
    """Each answer goes out `delay_s` after its query."""
    self._become(delay_s)

  def go_on(self):
    """Answers at once, also what it still held."""
    self._become(0.0)

  @property
  def goes_on(self):
    with self._lock:
      return self._delay_s == 0.0

  def asked(self, *hosts):
    """Queries of these hosts since it began to hang, to be slow or to go on."""
    with self._lock:
      return sum(self._asked[host] for host in hosts)

  def answered(self, *hosts):
    with self._lock:
      return sum(self._answered[host] for host in hosts)

  def close(self):
    with self._lock:
      self._ends = True
    self._waker.send(b"x")
    self._thread.join()
    for each in (self._endpoint, self._wakes, self._waker):
      each.close()

  def _become(self, delay_s):
    with self._lock:
      self._delay_s = delay_s
      self._asked.clear()
      self._answered.clear()
      if delay_s == 0.0:
        self._held = [(0.0, *rest) for _, *rest in self._held]
    self._waker.send(b"x")

  def _serve(self):
    while True:
      with self._lock:
        if self._ends:
          return
        due = self._held[0][0] if self._held else float("inf")
      left = max(0.0, due - time.monotonic())
      ready = select.select([self._endpoint, self._wakes], [], [],
                            None if left == float("inf") else left)[0]
      if self._wakes in ready:
        self._wakes.recv(64)
      if self._endpoint in ready:
        self._take()
      self._send_due()

  def _take(self):
    try:
      query, peer = self._endpoint.recvfrom(2048)
    except OSError:
      return  # the kernel tells of a peer that is gone
    answer = answer_to(query, self._table)
    if answer is None:
      return
    with self._lock:
      self._asked[peer[0]] += 1
      if len(self._held) < MOST_HELD:
        due = (float("inf") if self._delay_s is None else
               time.monotonic() + self._delay_s)
        heapq.heappush(self._held, (due, next(self._numbers), answer, peer))

  def _send_due(self):
    with self._lock:
      while self._held and self._held[0][0] <= time.monotonic():
        _, _, answer, peer = heapq.heappop(self._held)
        try:
          self._endpoint.sendto(answer, peer)
        except OSError:
          continue  # the process that asked has ended
        self._answered[peer[0]] += 1
