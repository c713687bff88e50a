"""Proxies of the environment: no program of Kamino's goes through one."""

import os
import socket
import subprocess
import threading

from harness import ClusterTest, main, wait_until

# All that gRPC, curl and the like look at.
NAMES = ("http_proxy", "https_proxy", "grpc_proxy", "all_proxy")
VARIABLES = NAMES + tuple(name.upper() for name in NAMES)
EXCEPTIONS = {"no_proxy": "127.0.0.0/8,localhost",
              "NO_PROXY": "127.0.0.0/8,localhost"}


class Proxy:
  """Takes connections, counts them, and serves none."""

  def __init__(self):
    self.listener = socket.create_server(("127.0.0.1", 0))
    self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
    self.connections = 0
    self.thread = threading.Thread(target=self._take, daemon=True)
    self.thread.start()

  def _take(self):
    while True:
      try:
        connection, _ = self.listener.accept()
      except OSError:
        return  # closed
      self.connections += 1
      connection.close()

  def close(self):
    self.listener.shutdown(socket.SHUT_RDWR)
    self.listener.close()
    self.thread.join()


class ProxyTest(ClusterTest):
  start = {"nodes": 2, "heap_mb": 16, "ring_mb": 16}

  def setUp(self):
    self.proxy = Proxy()
    self.addCleanup(self.proxy.close)
    for name in VARIABLES:
      before = os.environ.get(name)
      self.addCleanup(self.put_back, name, before)
      os.environ[name] = self.proxy.url
    super().setUp()  # the servers get all of them

  @staticmethod
  def put_back(name, value):
    if value is None:
      os.environ.pop(name, None)
    else:
      os.environ[name] = value

  def run_with(self, told, *words):
    environment = {name: value for name, value in os.environ.items()
                   if name not in VARIABLES}
    done = subprocess.run(words, env={**environment, **told}, timeout=60,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False)
    self.assertEqual(done.returncode, 0, (told, words, done.stderr))
    return done.stdout

  def test_no_program_uses_a_proxy(self):
    # A proxy was set from the first connection on: to the managers, to etcd,
    # and between nodes. The same holds for restarted programs.
    self.cluster.kill("n2")
    self.cluster.restart("n2")
    self.cluster.kill("manager")
    self.cluster.restart_manager()
    self.cluster.await_chain(["n1", "n2"], timeout=30)
    kamino = self.cluster.binary("kamino")
    seeds = f"--seeds={self.cluster.seeds}"
    managers = "--managers=" + ",".join(
        self.cluster.addresses_of(self.cluster.managers))
    for variable in VARIABLES:
      for exceptions in ({}, EXCEPTIONS):
        told = {variable: self.proxy.url, **exceptions}
        self.run_with(told, kamino, seeds, "put", "a", variable)
        self.assertEqual(self.run_with(told, kamino, seeds, "get", "a"),
                         variable + "\n")
        self.run_with(told, kamino, managers, "admin", "status")
        self.run_with(told, self.cluster.binary("bank_client"),
                      self.cluster.seeds)
    told = dict.fromkeys(VARIABLES, self.proxy.url)
    self.run_with(told, kamino, seeds, "bench", "put", "--count=10",
                  "--carrier=grpc")
    self.run_with(told, kamino, seeds, "backup", "save",
                  os.path.join(self.folder, "b.kmb"))
    self.run_with(told, kamino, seeds, managers, "debug", "dump",
                  os.path.join(self.folder, "d.tar.gz"))
    self.cluster.stop()
    self.run_with(told, self.cluster.binary("kamino_check"),
                  self.cluster.data_dir("n1"))
    self.assertEqual(self.proxy.connections, 0)
    # The proxy is there: a program that asked it would have been counted.
    socket.create_connection(self.proxy.listener.getsockname()).close()
    wait_until(lambda: self.proxy.connections == 1, 30, "the proxy")


if __name__ == "__main__":
  main()
