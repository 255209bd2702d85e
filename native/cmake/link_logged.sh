#!/bin/sh
# Runs a link command; what the linker says about removed sections goes to a file, everything else to stderr.
log=$1
shift
"$@" >"$log.part" 2>&1
status=$?
grep 'removing unused section' "$log.part" >"$log"
grep -v 'removing unused section' "$log.part" >&2
rm -f "$log.part"
exit $status
