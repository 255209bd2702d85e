#!/usr/bin/env bash
# Runs the gate on the caller's project, or judges the binaries that the caller's workflow built.
set -uf
own=$(cd "$(dirname "$0")/../.." && pwd)
bin=${RUNNER_TEMP:-/tmp}/sizeguard/bin
export SIZEGUARD_STORE="$HOME/.cache/sizeguard/store"
mkdir -p -- "$SIZEGUARD_RESULTS"
# Keep git from listing the results as changes of the project.
printf '*\n' >"$SIZEGUARD_RESULTS/.gitignore"

code=0
# Conditions without images are a mistake, such as an output of a step that is empty.
if [ -n "${SIZEGUARD_IMAGES:-}${SIZEGUARD_FAIL_IF:-}" ]; then
  "$bin/python" "$own/ci/action/gate_images.py" || code=$?
else
  options=(--format github)
  for each in json=gate.json sarif=gate.sarif junit=gate.xml; do
    options+=("--also=${each%%=*}=$SIZEGUARD_RESULTS/${each#*=}")
  done
  [ -z "$SIZEGUARD_BASE" ] || options+=("--base=$SIZEGUARD_BASE")
  for app in $SIZEGUARD_APPS; do options+=("--app=$app"); done
  for target in $SIZEGUARD_TARGETS; do options+=("--target=$target"); done
  "$bin/sizeguard" gate "${options[@]}" || code=$?
  pages=$(dirname -- "$SIZEGUARD_RESULTS")/sizeguard-pages
  if "$bin/python" "$own/ci/action/pages.py" "$SIZEGUARD_RESULTS/gate.json" "$pages"; then
    echo "pages=$pages" >>"$GITHUB_OUTPUT"
  fi
fi
echo "exit-code=$code" >>"$GITHUB_OUTPUT"
exit "$code"
