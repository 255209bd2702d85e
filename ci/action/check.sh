#!/usr/bin/env bash
# Finds a Python for sizeguard before anything is installed, and names the tools of this system for the store's key.
set -euo pipefail

refuse() {
  echo "::error title=sizeguard::$1"
  exit 2
}

system=$(uname -s)
case $system in
  Linux | Darwin) ;;
  *) refuse "sizeguard runs on Linux and macOS, and this is $system" ;;
esac

# A container has neither Python nor git nor a C compiler: root installs them where there is apt-get.
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  missing=
  command -v python3 >/dev/null || missing="python3 python3-venv"
  { [ -n "$missing" ] || python3 -I -c 'import ensurepip' 2>/dev/null; } || missing=python3-venv
  command -v git >/dev/null || missing="$missing git"
  command -v cc >/dev/null || command -v clang >/dev/null || missing="$missing gcc libc6-dev"
  if [ -n "$missing" ]; then
    echo "installing $missing"
    apt-get update -qq >/dev/null
    # shellcheck disable=SC2086  # a list of packages
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends ca-certificates $missing >/dev/null
  fi
fi

python=
for each in python3.13 python3.12 python3.11 python3 "${RUNNER_TOOL_CACHE:-/opt/hostedtoolcache}"/Python/3.1[1-9].*/*/bin/python3; do
  if "$each" -I -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && "$each" -I -c 'import ensurepip, venv' 2>/dev/null; then
    python=$("$each" -I -c "import sys; print(sys.executable)")
    break
  fi
done
if [ -z "$python" ]; then
  here=$(python3 --version 2>/dev/null || echo "no python3")
  refuse "sizeguard needs Python 3.11 or later with venv, and here is $here; add a step with actions/setup-python before this one"
fi
command -v git >/dev/null || refuse "sizeguard needs git; install it before actions/checkout, which else fetches no history"

# actions/checkout without git downloads the files alone.
case ${missing:-} in
  *git*)
    [ -z "${GITHUB_WORKSPACE:-}" ] || [ -e "$GITHUB_WORKSPACE/.git" ] ||
      refuse "git was missing when actions/checkout ran, so there is no history: add a step before it, apt-get update && apt-get install -y git"
    ;;
esac

command -v cc >/dev/null || command -v gcc >/dev/null || command -v clang >/dev/null ||
  refuse "sizeguard needs a C compiler, which compiles a part of it; install gcc or clang"

# The runner's user owns the workspace, and in a container somebody else runs the steps.
if [ -n "${GITHUB_WORKSPACE:-}" ] && ! git -C "$GITHUB_WORKSPACE" rev-parse --git-dir >/dev/null 2>&1; then
  git config --global --add safe.directory "$GITHUB_WORKSPACE"
fi

key=$("$python" -I - <<'PYTHON'
import hashlib, platform, subprocess

texts = [platform.system(), platform.machine(), platform.mac_ver()[0]]
for name in ("/etc/os-release",):
    try:
        texts.append(open(name, encoding="utf-8", errors="replace").read())
    except OSError:
        pass
for tool in ("cc", "c++", "ld", "clang", "rustc", "cmake"):
    try:
        texts.append(subprocess.run([tool, "--version"], capture_output=True, text=True, errors="replace").stdout)
    except OSError:
        texts.append("")
print(platform.system(), platform.machine(), hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16], sep="-")
PYTHON
)
{
  echo "python=$python"
  echo "key=$key"
} >>"$GITHUB_OUTPUT"
