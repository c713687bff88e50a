"""An HTTP proxy that serves nothing: it counts the connections to it."""

import socket
import threading

from processes import ClusterError, wait_until

NAMES = ("http_proxy", "https_proxy", "grpc_proxy", "all_proxy")
VARIABLES = NAMES + tuple(name.upper() for name in NAMES)
COMES_S = 5.0  # a connection


class ProxyListener:
  """Accepts and closes connections from its construction to close().

  Args:
    endpoint: a stream socket, bound; closed by close().
  """

  def __init__(self, endpoint):
    self._endpoint = endpoint
    endpoint.setblocking(True)
    endpoint.listen(64)
    self.url = "http://%s:%d" % endpoint.getsockname()
    self.peers = []  # addresses that connections came from
    self._thread = threading.Thread(target=self._take, daemon=True)
    self._thread.start()

  def environment(self):
    """Variables by which a program that follows proxies uses this one."""
    return dict.fromkeys(VARIABLES, self.url)

  def check_told(self, pid):
    """Raises if a process lacks one of those variables."""
    with open(f"/proc/{pid}/environ", "rb") as f:
      told = f.read().decode("utf-8", errors="replace").split("\0")
    lacks = [name for name in VARIABLES if f"{name}={self.url}" not in told]
    if lacks:
      raise ClusterError(f"process {pid} was to have {' '.join(lacks)}")

  def check_unused(self, client):
    """Raises if a connection has come. Connects `client`, a socket in a
    victim's namespace, to show that a victim can reach the proxy; closes it."""
    with client:
      if self.peers:
        raise ClusterError(f"{len(self.peers)} connections came to the proxy "
                           f"{self.url}, the first one from {self.peers[0]}")
      client.settimeout(COMES_S)
      client.connect(self._endpoint.getsockname())
      wait_until(lambda: self.peers, COMES_S,
                 f"a connection to the proxy {self.url}")
    self.peers.clear()

  def close(self):
    try:
      self._endpoint.shutdown(socket.SHUT_RDWR)
    finally:
      self._endpoint.close()
      self._thread.join()

  def _take(self):
    while True:
      try:
        connection, (host, port) = self._endpoint.accept()
      except OSError:
        return  # closed
      self.peers.append(f"{host}:{port}")
      connection.close()
