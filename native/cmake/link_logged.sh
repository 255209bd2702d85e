#!/bin/sh
# Runs a link command; what the linker says about removed sections goes to OUTPUT.gc.txt, everything else to stderr.
previous=
for word; do
  [ "$previous" = -o ] && log=$word.gc.txt
  previous=$word
done
"$@" >"$log.part" 2>&1
status=$?
grep 'removing unused section' "$log.part" >"$log"
grep -v 'removing unused section' "$log.part" >&2
rm -f "$log.part"
exit $status
