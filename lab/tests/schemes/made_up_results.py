"""Results of bench-schemes that are made up, for tests of its page."""


def engine_row(store, workload, size, rate, drain_ns=0):
  return {"drain_ns": drain_ns, "suite": "micro", "scheme": store,
          "alpha": None, "workload": workload, "distribution": "hot",
          "threads": 1, "value_size": size, "ops_per_s": rate, "spread": 0.05,
          "p50_ns": 900, "p99_ns": 2000, "fences_per_tx": 3,
          "lines_flushed_per_tx": 20, "background_fences_per_tx": 1,
          "background_lines_flushed_per_tx": 16, "bytes_storage": 1 << 20}


def point(figure, series, x, value, measure="ns"):
  return {"figure": figure, "series": series, "memory": "as it is",
          "measure": measure, "x": x, "value": value, "low": value,
          "high": value}


def results():
  return {
      "bench": "schemes", "facts": {"processor": "made <up>"},
      "stores": ["undo-own", "unsafe"],
      "loads": [{"run": "a", "foreign_processors": 0.25, "steal": 0.01}],
      "engine": [engine_row("undo-own", "overwrite-bytes", 1024, 500_000),
                 engine_row("undo-own", "overwrite-bytes", 1024, 250_000, 500),
                 engine_row("unsafe", "overwrite-bytes", 1024, 1_000_000)],
      "points": [point("recovery-open", "undo-own", 1, 5e6, "ns after a crash"),
                 point("recovery-open", "undo-own", 1, 2e6, "ns after a close"),
                 point("durable", "undo-own", 1024, 1500,
                       "p50 ns to the commit"),
                 point("rewind-6", "rewind-1-noforce-batch", 0, 10),
                 point("rewind-6", "rewind-1-noforce-batch", 500, 20)],
      "marks": [{"name": "REWIND fig. 6", "paper": "20", "target": "falling",
                 "here": None, "low": None, "high": None, "holds": None,
                 "note": "", "reason": ""}],
      "wrap_model": {"rows": [{"what": "a <row>", "value": 2.5}]},
      "crash_model": None}
