"""Which lines of a test judge a speed: what the machine decides.

An upper bound on time that has passed, or a lower bound on a speed, fails where
the machine is slow. A lower bound on time that has passed holds anywhere, and a
speed above 0 only says that something has run.
"""

import ast
import re

# Where a name or a call says that a value is time that has passed. Tests whose
# clock is their own use other names, or are in ALLOWED.
CLOCK = (r"absl::Now\(|\bMonotonicNow\(|\b(?:steady|system)_clock\b|"
         r"\bmonotonic(?:_ns)?\(|\bperf_counter|\btime\.time\(|"
         r"clock_gettime|getrusage")
TIME = re.compile(CLOCK + r"|elapsed|\btook\b|took_|\bduration|_seconds\b|"
                  r"\bseconds\b|silence|outage|\bstall|latency|lateness|"
                  r"\bgap_s\b|\bp[59]\d|_p[59]\d|[\"']median[\"']",
                  re.IGNORECASE)
SPEED = re.compile(r"\bspeed|per_second|_per_s\b|faster|fastest|throughput|"
                   r"ops_per|\brate\b", re.IGNORECASE)
COMPARED_CLOCK = re.compile(r"(?:%s)[^;{}]*?(?:<=?|>=?)[^;{}<>]*$" % CLOCK)

ONE_RUN = "two quantiles of one run, in their order"
MADE_UP = "figures of a history that the test has made up"
# (file, line) of what compares times, and why the machine does not decide it.
ALLOWED = {
    ("tests/rpc/channel_test.cc", "return absl::Now() - begin < own / 2;"):
        "which of two deadlines has ended a call; the other is an hour away",
    ("tests/integration/roles_test.py",
     "self.assertGreater(float(expires.group(1)), time.time())"):
        "a date of the calendar, hours ahead",
    ("tests/bench/failover/failover_test.py",
     "self.assertAlmostEqual(rig.stall_after(10.15, 0.4), 9.85)"): MADE_UP,
    ("tests/bench/failover/failover_test.py",
     "self.assertAlmostEqual(rig.stall_after(10.15, 0.2), 0.2)"): MADE_UP,
    ("tests/bench/failover/failover_test.py",
     "self.assertAlmostEqual(rig.stall_after(10.0, 3.99), 4.0)"): MADE_UP,
    ("tests/bench/engine/program_test.py",
     'self.assertLess(rows["overwrite-bytes", 64, 0]["p50_ns"],'):
        "the median without a delay and with one of 20 us at each fence",
    ("tests/bench/engine/race_test.cc",
     "EXPECT_GE(row.p99_ns, row.p50_ns);"): ONE_RUN,
    ("tests/bench/service/race_test.cc",
     "EXPECT_LE(turn.p50, turn.p99);"): ONE_RUN,
    ("tests/bench/service/race_test.cc",
     "EXPECT_LE(turn.p99, turn.p9999);"): ONE_RUN,
    ("tests/bench/service/service_test.py",
     'self.assertLessEqual(row["p50_us"], row["max_us"] * 1.01)'): ONE_RUN,
    ("tests/bench/transport/program_test.py",
     'self.assertGreaterEqual(row["round_trip_p99_ns"],'): ONE_RUN,
}

AT_MOST = {"LT", "LE", "assertLess", "assertLessEqual"}
AT_LEAST = {"GT", "GE", "assertGreater", "assertGreaterEqual"}
ABOUT = {"NEAR", "assertAlmostEqual"}
# Numbers that are no elapsed time: constants, and how many there are.
NO_TIME = re.compile(r"\b(?:absl::|std::chrono::)\w*?[sS]econds\(|"
                     r"[\w.]+\.count\(\)")
ZERO = re.compile(r"[0.uUfFdD]+|absl::ZeroDuration\(\)")
# Raw strings, strings, letters and comments: what they hold is no code.
NO_CODE = re.compile(r'R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"|'
                     r"'(?:\\.|[^'\\\n])'|//[^\n]*")
MACRO = re.compile(r"\b(?:EXPECT|ASSERT)_(LT|LE|GT|GE|NEAR|TRUE|FALSE)\(")


def judges(comparison, left, right):
  """Whether `left` compared with `right` is a bound on a speed."""
  left, right = (NO_TIME.sub("(", side) for side in (left, right))
  if comparison in AT_LEAST:
    comparison, left, right = "LT", right, left
  elif comparison in ABOUT:
    return bool(TIME.search(left) or SPEED.search(left))
  elif comparison not in AT_MOST:
    return False
  # Now left is to be below right.
  return bool(TIME.search(left) or
              SPEED.search(right) and not ZERO.fullmatch(left.strip()))


def arguments(text, start):
  """Those of a call whose parenthesis opens before `start`, as texts."""
  found, depth, begin = [], 0, start
  for at in range(start, len(text)):
    char = text[at]
    if char in "([{":
      depth += 1
    elif char in ")]}" and depth:
      depth -= 1
    elif not depth and char in ",)":
      found.append(text[begin:at])
      begin = at + 1
      if char == ")":
        break
  return found


def in_cpp(text):
  """Numbers of the lines that judge a speed."""
  text = NO_CODE.sub(lambda m: "0" + "\n" * m.group().count("\n"), text)
  found = []
  for macro in MACRO.finditer(text):
    given = arguments(text, macro.end())
    bad = (COMPARED_CLOCK.search(given[0]) if len(given) < 2 else
           judges(macro.group(1), given[0], given[1]))
    if bad:
      found.append(text.count("\n", 0, macro.start()) + 1)
  for result in re.finditer(r"\breturn ([^;]*);", text):
    if COMPARED_CLOCK.search(result.group(1)):
      found.append(text.count("\n", 0, result.start()) + 1)
  return sorted(set(found))


OPERATORS = {ast.Lt: "LT", ast.LtE: "LE", ast.Gt: "GT", ast.GtE: "GE"}


def _compares(node):
  """(comparison, left, right) of what an assertion of unittest compares."""
  if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
    return
  name = node.func.attr
  if name in AT_MOST | AT_LEAST | ABOUT and len(node.args) >= 2:
    yield name, ast.unparse(node.args[0]), ast.unparse(node.args[1])
  if name in ("assertTrue", "assertFalse"):
    for part in ast.walk(node.args[0]):
      if isinstance(part, ast.Compare):
        yield (OPERATORS.get(type(part.ops[0])), ast.unparse(part.left),
               ast.unparse(part.comparators[0]))


def in_python(text):
  """Numbers of the lines that judge a speed."""
  return sorted({node.lineno for node in ast.walk(ast.parse(text))
                 for compared in _compares(node) if judges(*compared)})


def lines_that_judge(name, text):
  """(number, line) of each, those that are allowed included."""
  lines = text.split("\n")
  numbers = in_python(text) if name.endswith(".py") else in_cpp(text)
  return [(number, lines[number - 1].strip()) for number in numbers]
