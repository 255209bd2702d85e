#!/bin/sh
# Runs a link command; what the linker says about removed sections goes to OUTPUT.gc.txt, everything else to stderr.
previous=
for word; do
  [ "$previous" = -o ] && output=$word
  previous=$word
done
log=$output.gc.txt
# What LTO left of an earlier link would pass for this one's.
find "$(dirname "$output")" \( -name "$(basename "$output").lto*.o" -o -name "$(basename "$output").ltrans*.o" \) -exec rm -f {} +
rm -rf "$output.lto"
"$@" >"$log.part" 2>&1
status=$?
if [ -f "$output.map" ] && grep -q '^# Dead Stripped Symbols:' "$output.map"; then
  # Apple's linkers tell in the map instead.
  sed -n '/^# Dead Stripped Symbols:/,$p' "$output.map" >"$log"
  cat "$log.part" >&2
else
  grep 'removing unused section' "$log.part" >"$log"
  grep -v 'removing unused section' "$log.part" >&2
fi
rm -f "$log.part"
exit $status
