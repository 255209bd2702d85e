#!/usr/bin/env bash
# Installs sizeguard from the action's own checkout, and the tools of the native targets that are asked for.
set -euo pipefail
own=$(cd "$(dirname "$0")/../.." && pwd)
venv=${RUNNER_TEMP:-/tmp}/sizeguard

if [ ! -x "$venv/bin/sizeguard" ]; then
  "$SIZEGUARD_PYTHON" -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$own"
fi
[ -z "${SIZEGUARD_IMAGES:-}" ] || exit 0

# Apps of the native runtime need compilers; whoever has other builds brings their own.
machines=$("$venv/bin/python" "$own/ci/action/machines.py")
[ -n "$machines" ] || exit 0
# shellcheck disable=SC2086  # a list of names
"$own/.ci/setup" tools $machines
case $machines in
  *macos* | *ios*) "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$own[macos]" ;;
esac
