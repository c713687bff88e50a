"""The chart, as tests use it."""

import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.realpath(__file__))))
CHART = os.path.join(ROOT, "deploy", "helm", "kamino")
NODES = "app.kubernetes.io/component=node"
MANAGERS = "app.kubernetes.io/component=manager"


def condition(item, kind):
  """Whether an object has a condition that is true."""
  return any(c["type"] == kind and c["status"] == "True"
             for c in item.get("status", {}).get("conditions", []))


def is_ready(pod):
  return ("deletionTimestamp" not in pod["metadata"] and
          condition(pod, "Ready"))


def sets(values):
  """Words of helm for values by path."""
  return [word for path, value in values.items()
          for word in ("--set", f"{path}={value}")]
