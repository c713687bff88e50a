"""Inside a machine that loses its power with a whole cluster in it.

  power.py FOLDER run [DEVICES]
      starts the cluster and puts a load on it, for good
  power.py FOLDER check N
      after the next boot: all of it comes back, with everything up to version N

FOLDER is on the NVDIMM: the nodes' heaps, etcd's data and the load's log. With
DEVICES, a folder of links to devices by their nodes' names, heaps are there.
"""

import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("../../../deploy/local", "../../integration"):
  sys.path.insert(0, os.path.join(HERE, folder))
# pylint: disable=wrong-import-position
from binaries import Binaries
from harness import ACCOUNTS, BALANCE
from local_cluster import LocalCluster
from processes import ClusterError, wait_until

PATIENCE = 10  # times what a real machine needs
WAIT_S = 600
ENDLESS = 1000000


def run(cluster, devices):
  cluster.start(pmem="auto", heap_mb=64, ring_mb=16, failure_timeout_ms=10000,
                leader_ttl_s=10, devices=devices,
                manager_flags=["--heartbeat_interval_ms=1000"],
                node_flags=["--restart_limit=0"])
  os.sync()  # what this machine itself must find again
  log = os.path.join(cluster.folder, "acked.log")
  cluster.kamino("bench", "transfer", "--setup", f"--accounts={ACCOUNTS}",
                 f"--balance={BALANCE}", f"--count={ENDLESS}",
                 "--outstanding=8", f"--acked_log={log}", "--timeout=60s",
                 timeout=600)


def check(cluster, version):
  cluster.restart()
  nodes = cluster.nodes
  cluster.await_chain(nodes, timeout=WAIT_S)
  def statuses():
    done = cluster.kamino("status", "--json", check=False)
    found = [json.loads(line) for line in done.stdout.splitlines()[1:]]
    equal = len({(n["applied"], n["objects"]) for n in found}) == 1
    return found if equal and len(found) == len(nodes) else None
  applied = int(wait_until(statuses, WAIT_S, "equal nodes")[0]["applied"])
  if applied < version:
    raise ClusterError(f"version {version} was acknowledged, but the nodes "
                       f"hold {applied} operations")
  lines = cluster.kamino("scan", "--prefix=bank/").stdout.splitlines()
  total = sum(int(line.split("\t")[1]) for line in lines)
  if (len(lines), total) != (ACCOUNTS, ACCOUNTS * BALANCE):
    raise ClusterError(f"{len(lines)} accounts hold {total}, not "
                       f"{ACCOUNTS} accounts {ACCOUNTS * BALANCE}")
  cluster.kamino("put", "after", "all")
  print(f"{len(nodes)} nodes hold {applied} operations, {version} of them "
        "known to be acknowledged before")


def main():
  cluster = LocalCluster(os.path.join(sys.argv[1], "power"), Binaries(),
                         PATIENCE)
  try:
    if sys.argv[2] == "run":
      run(cluster, {name: os.path.join(folder, name)
                    for folder in sys.argv[3:] for name in os.listdir(folder)})
    else:
      check(cluster, int(sys.argv[3]))
      cluster.destroy()
  except ClusterError as error:
    for name in cluster.state.get("processes", {}):
      print(f"--- {name}\n{cluster.log_tail(name, lines=20)}")
    sys.exit(f"power: {error}")


if __name__ == "__main__":
  main()
