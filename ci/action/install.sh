#!/usr/bin/env bash
# Installs sizeguard from the action's own checkout, and the tools of the native targets that are asked for.
set -euo pipefail
own=$(cd "$(dirname "$0")/../.." && pwd)
venv=${RUNNER_TEMP:-/tmp}/sizeguard

if [ ! -x "$venv/bin/sizeguard" ]; then
  "$SIZEGUARD_PYTHON" -I -m venv "$venv"
  "$venv/bin/python" -I -m pip install --quiet --disable-pip-version-check "$own"
fi
[ -z "${SIZEGUARD_IMAGES:-}" ] || exit 0

# Apps of the native runtime need compilers; whoever has other builds brings their own.
machines=$("$venv/bin/python" "$own/ci/action/machines.py")
[ -n "$machines" ] || exit 0
# shellcheck disable=SC2086  # a list of names
if ! "$own/.ci/setup" tools $machines; then
  system=$(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release 2>/dev/null || uname -s)
  echo "::error title=sizeguard::the tools for $machines cannot be installed on ${system:-this system}: see the log above; Debian 12 and Ubuntu 24.04 have them"
  exit 4
fi
case $machines in
  *macos* | *ios*) "$venv/bin/python" -I -m pip install --quiet --disable-pip-version-check "$own[macos]" ;;
esac
