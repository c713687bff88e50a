#!/bin/sh
# Starts a server and leaves it running: start.sh NAME COMMAND...
# Its log is /tmp/vm/NAME.log; of an earlier one of that name it goes on.
set -eu
log=/tmp/vm/$1.log
shift
setsid "$@" </dev/null >>"$log" 2>&1 &
echo $!
