"""Metrics and probes of a real cluster, read by Prometheus itself."""

import json
import os
import re
import signal
import ssl
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import harness
from harness import ROOT, free_port, patience, wait_until

PATIENCE_S = 20
MONITORING = os.path.join(ROOT, "deploy", "monitoring")
RULES = os.path.join(MONITORING, "kamino.rules.yaml")
RATE_INTERVAL = "10s"  # scrapes are close to each other


def read(address, path, timeout=10, tls=None):
  """Status and text of a page, by HTTPS with that context."""
  scheme = "http" if tls is None else "https"
  try:
    with urllib.request.urlopen(f"{scheme}://{address}{path}",
                                timeout=patience(timeout), context=tls) as page:
      return page.status, page.read().decode()
  except urllib.error.HTTPError as error:
    return error.code, error.read().decode()


def families(text):
  """The families of a page: name to (type, help)."""
  found = {}
  for line in text.splitlines():
    if line.startswith("# HELP "):
      name, told = line[len("# HELP "):].split(" ", 1)
      found[name] = [None, told]
    elif line.startswith("# TYPE "):
      name, kind = line[len("# TYPE "):].split(" ", 1)
      found[name][0] = kind
  return {name: tuple(each) for name, each in found.items()}


def values(text, name):
  """Samples of a metric: labels as text to value."""
  sample = re.compile(r"^%s(\{[^}]*\})? (\S+)$" % re.escape(name), re.M)
  return {labels: float(value) for labels, value in sample.findall(text)}


def documented():
  """The tables of docs/operate/metrics.md: name to (type, its programs)."""
  row = re.compile(r"^\| `(\w+)` \| (counter|gauge|histogram) \| ([\w, ]+) \|",
                   re.M)
  page = os.path.join(ROOT, "docs", "operate", "metrics.md")
  with open(page, encoding="utf-8") as f:
    return {name: (kind, {who.strip() for who in has.split(",")})
            for name, kind, has in row.findall(f.read())}


class Prometheus:
  """A real one, that reads all processes of a cluster, as a reader.

  Args:
    targets: job to addresses.
    tls: files, as Prometheus' configuration names them.
  """

  def __init__(self, folder, targets, tls):
    self.folder = os.path.join(folder, "prometheus")
    os.makedirs(self.folder)
    self.address = f"127.0.0.1:{free_port()}"
    config = {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s",
                   "evaluation_interval": "250ms"},
        "rule_files": [RULES],
        "scrape_configs": [
            {"job_name": job, "scheme": "https", "tls_config": tls,
             "static_configs": [{"targets": addresses}]}
            for job, addresses in targets.items()],
    }
    path = os.path.join(self.folder, "prometheus.yml")  # JSON is YAML
    with open(path, "w", encoding="utf-8") as f:
      json.dump(config, f)
    subprocess.run(["promtool", "check", "config", path], check=True,
                   stdout=subprocess.DEVNULL)
    # pylint: disable-next=consider-using-with
    self.log = open(os.path.join(self.folder, "log"), "w", encoding="utf-8")
    # pylint: disable-next=consider-using-with
    self.process = subprocess.Popen(
        ["prometheus", f"--config.file={path}",
         f"--storage.tsdb.path={self.folder}/data",
         f"--web.listen-address={self.address}", "--log.level=warn"],
        stdout=self.log, stderr=self.log)
    wait_until(self.ready, PATIENCE_S, "Prometheus to be ready")

  def ready(self):
    try:
      return read(self.address, "/-/ready", 1)[0] == 200
    except OSError:
      return False

  def ask(self, path):
    status, answer = read(self.address, f"/api/v1/{path}")
    if status != 200:
      raise AssertionError(f"{path}: {answer}")
    return json.loads(answer)["data"]

  def query(self, text):
    """The present value of an expression: a list of (labels, value)."""
    words = urllib.parse.urlencode({"query": text})
    return [(each["metric"], float(each["value"][1]))
            for each in self.ask(f"query?{words}")["result"]]

  def stop(self):
    self.process.terminate()
    try:
      self.process.wait(patience(20))
    except subprocess.TimeoutExpired:
      self.process.kill()
      self.process.wait()
    self.log.close()


class MetricsTest(harness.ClusterTest):
  start = {"web": True, "tls": True}
  maxDiff = None

  def setUp(self):
    super().setUp()
    self.nodes = {name: self.cluster.state["web"][name]
                  for name in self.cluster.nodes}
    self.managers = {name: self.cluster.state["web"][name]
                     for name in self.cluster.managers}
    authority = self.cluster.certificates.authority
    certificate, key = self.cluster.certificates.pair("reader/prometheus")
    self.reader = {"ca_file": authority, "cert_file": certificate,
                   "key_file": key}
    self.anonymous = ssl.create_default_context(cafile=authority)
    self.tls = ssl.create_default_context(cafile=authority)
    self.tls.load_cert_chain(certificate, key)

  def probe(self, address, path):
    """A probe without a certificate, like a kubelet's."""
    return read(address, path, tls=self.anonymous)

  def pages(self):
    return {name: read(address, "/metrics", tls=self.tls)[1]
            for name, address in {**self.nodes, **self.managers}.items()}

  def use(self):
    """Calls of most kinds, by both ways."""
    self.kamino("put", "a", "1")
    self.kamino("get", "a")
    self.kamino("get", "absent", expect=1)
    self.kamino("backup", "save", os.path.join(self.folder, "backup"))
    self.open_bank()
    harness.Load(self.cluster, count=2000).join()

  def test_pages_documents_and_prometheus(self):
    """One cluster for all: starting one takes longest."""
    self.prometheus = Prometheus(self.folder, {
        "kamino_node": list(self.nodes.values()),
        "kamino_manager": list(self.managers.values())}, self.reader)
    self.addCleanup(self.prometheus.stop)
    self.use()
    self.check_pages_and_documents()
    self.check_prometheus()
    self.check_rules()
    self.check_dashboard()
    self.check_probes()

  def check_pages_and_documents(self):
    pages = self.pages()
    found = {"node": {}, "manager": {}}
    for name, page in pages.items():
      checked = subprocess.run(["promtool", "check", "metrics"], input=page,
                               text=True, capture_output=True, check=False)
      self.assertEqual((checked.returncode, checked.stderr), (0, ""), name)
      who = "node" if name in self.nodes else "manager"
      for metric, (kind, _) in families(page).items():
        found[who][metric] = kind
    told = documented()
    for who, metrics in found.items():
      expected = {name: kind for name, (kind, has) in told.items()
                  if who in has}
      self.assertEqual(sorted(metrics.items()), sorted(expected.items()),
                       f"docs/operate/metrics.md, of a {who}")
    # Two of them by their values.
    head = pages[self.cluster.chain()[0][0]]
    self.assertGreater(
        values(head, "kamino_head_requests_total")
        ['{chain="1",end="committed"}'], 2000)
    for stage in ("admit", "execute", "persist", "hop", "complete", "clean"):
      self.assertGreater(
          values(head, "kamino_stage_seconds_count")
          [f'{{chain="1",stage="{stage}"}}'], 0, stage)

  def check_prometheus(self):
    prometheus = self.prometheus
    wait_until(lambda: prometheus.query("sum(up) == 5"), PATIENCE_S,
               "Prometheus to read all processes")
    # A page that was not read in time is missing until the next time.
    for query, value in (("sum(kamino_manager_leads)", 1),
                         ("sum(kamino_node_ready)", 4),
                         ("count(kamino_node_role{role='tail'} == 1)", 1)):
      wait_until(lambda q=query, v=value: prometheus.query(f"{q} == {v}"),
                 PATIENCE_S, f"{query} to be {value}")

  def check_rules(self):
    """All can be evaluated, and none has a word against a sound cluster."""
    def evaluated():
      [group] = self.prometheus.ask("rules")["groups"]
      return group["rules"] if all(
          rule["health"] != "unknown" for rule in group["rules"]) else None
    for rule in wait_until(evaluated, PATIENCE_S, "rules to be evaluated"):
      self.assertEqual(rule["health"], "ok", rule)
      # Pending ones come and go on a machine that is busy.
      self.assertNotIn("firing", [a["state"] for a in rule["alerts"]], rule)

  def check_dashboard(self):
    path = os.path.join(MONITORING, "kamino_dashboard.json")
    with open(path, encoding="utf-8") as f:
      panels = json.load(f)["panels"]
    asked = [target["expr"].replace("$__rate_interval", RATE_INTERVAL)
             for panel in panels for target in panel.get("targets", [])]
    self.assertGreater(len(asked), 40)
    for expression in asked:
      wait_until(lambda e=expression: self.prometheus.query(e), PATIENCE_S,
                 f"data for {expression}")

  def check_probes(self):
    for address in self.nodes.values():
      self.assertEqual(self.probe(address, "/livez"), (200, "ok\n"))
      self.assertEqual(self.probe(address, "/readyz"), (200, "ok\n"))
    manager = self.managers["manager"]
    self.assertEqual(self.probe(manager, "/livez"), (200, "ok\n"))
    self.assertEqual(self.probe(manager, "/readyz"), (200, "ok\n"))
    # Without etcd all processes stay alive; a manager that cannot lead is not
    # ready.
    self.cluster.kill("etcd")
    wait_until(lambda: self.probe(manager, "/readyz")[0] == 503, PATIENCE_S,
               "a manager without etcd not to be ready")
    self.assertEqual(self.probe(manager, "/livez"), (200, "ok\n"))
    # Without a manager they stay alive as well: members renew each other's
    # leases.
    self.cluster.kill("manager")
    for address in self.nodes.values():
      self.assertEqual(self.probe(address, "/livez"), (200, "ok\n"))
    self.cluster.kill("n1", signal.SIGSTOP)
    wait_until(lambda: all(self.probe(address, "/readyz")[0] == 503
                           for name, address in self.nodes.items()
                           if name != "n1"), PATIENCE_S,
               "nodes without a lease not to be ready")
    for name, address in self.nodes.items():
      if name != "n1":
        self.assertEqual(self.probe(address, "/livez")[0], 200)


if __name__ == "__main__":
  harness.main()
