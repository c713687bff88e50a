#!/bin/sh
# Measures rxe0 with perftest's ib_write_lat and ib_send_lat, between two queue
# pairs of the device. Prints "TOOL MICROSECONDS" for each, the typical latency.
set -eu
messages=1000
attempts=20

# Bytes, messages, then minimum, maximum and typical latency. It is "inf" when
# perftest could not find out how fast the machine's clock ticks.
typical() {
  awk -v n="$messages" '$2 == n && $5 + 0 > 0 && $5 != "inf" {
    print $5; found = 1 } END { exit !found }'
}

measure() {
  timeout 60 "$1" -d rxe0 -F -n "$messages" >/dev/null 2>&1 &
  server=$!
  left=$attempts
  # Until the server listens.
  until output=$(timeout 60 "$1" -d rxe0 -F -n "$messages" 127.0.0.1 2>&1)
  do
    left=$((left - 1))
    if [ "$left" -eq 0 ]; then
      echo "$output"
      exit 1
    fi
  done
  wait "$server"
  echo "$output" | typical
}

for tool in ib_write_lat ib_send_lat; do
  measure "$tool" >/tmp/vm/result || measure "$tool" >/tmp/vm/result ||
    measure "$tool" >/tmp/vm/result
  echo "$tool $(cat /tmp/vm/result)"
done
