#!/bin/sh
# Builds the runtime with the variables that PyTorch's build_mobile.sh reads.
#
#   TRACING_BASED=1 ./scripts/build_mobile.sh
#       instrumented: build/bin/model_tracer records what models use
#   SELECTED_OP_LIST=selected_ops.yaml TRACING_BASED=1 ./scripts/build_mobile.sh
#       what that list of a trace selects, dtypes and classes, too: headers and libraries for find_package(sizeguard) in
#       build_mobile/install, and bin/run_program beside them
#   SELECTED_OP_LIST=selected_ops.yaml ./scripts/build_mobile.sh
#       its operators alone, with every dtype
#
# Options of CMake may follow. BUILD_ROOT names another build folder, MAX_JOBS the number of compilers at once,
# SIZEGUARD_ROOT the folder with the runtime's native/, if that is neither above this script nor above the current folder.
# Other variables of PyTorch's build (USE_CUDA and so on) are accepted if they ask for what is done anyway.
set -eu

fail() {
  echo "error: $*" >&2
  exit 2
}

# The first folder from $1 upwards that holds the runtime's sources.
sources_above() {
  folder=$1
  while :; do
    if [ -f "$folder/native/cmake/environment.cmake" ]; then
      echo "$folder"
      return
    fi
    [ "$folder" != / ] || return 0
    folder=$(dirname "$folder")
  done
}

top=$(cd "$(dirname "$0")/.." && pwd -P)
source=${SIZEGUARD_ROOT:-}
[ -n "$source" ] || source=$(sources_above "$top")
[ -n "$source" ] || source=$(sources_above "$(pwd -P)")
[ -f "$source/native/cmake/environment.cmake" ] ||
  fail "no native/ above $top; name the folder that holds it: SIZEGUARD_ROOT=path"
command -v cmake >/dev/null || fail "cmake was not found: apt-get install cmake ninja-build"

tracing=OFF
case ${TRACING_BASED:-} in
1 | [Oo][Nn] | [Yy] | [Yy][Ee][Ss] | [Tt][Rr][Uu][Ee]) [ -n "${SELECTED_OP_LIST:-}" ] || tracing=ON ;;
esac
if [ -n "${SELECTED_OP_LIST:-}" ] && [ ! -r "$SELECTED_OP_LIST" ]; then
  fail "SELECTED_OP_LIST: $SELECTED_OP_LIST: no such file"
fi
if [ "$tracing" = ON ]; then
  folder=${BUILD_ROOT:-$top/build/tracing}
  programs=${BUILD_ROOT:-$top/build}/bin
  built="model_tracer run_program"
else
  folder=${BUILD_ROOT:-$top/build_mobile}
  programs=$folder/install/bin
  built=run_program
fi

# The options stand before those of the command line, which may override them.
options=$(cmake -P "$source/native/cmake/environment.cmake")
given=$#
while IFS= read -r option; do
  [ -n "$option" ] || continue
  set -- "$@" "$option"
  name=${option#-D}
  unset "${name%%=*}"
done <<END
$options
END
while [ "$given" -gt 0 ]; do
  set -- "$@" "$1"
  shift
  given=$((given - 1))
done
if command -v ninja >/dev/null; then
  set -- -G Ninja "$@"
fi
[ -z "${SIZEGUARD:-}" ] || set -- "-DSIZEGUARD=$SIZEGUARD" "$@"
[ "${VERBOSE:-}" != 1 ] || set -- -DCMAKE_VERBOSE_MAKEFILE=ON "$@"

mkdir -p "$folder" "$programs"
rm -f "$folder/CMakeCache.txt" # options of an earlier run are not those of this one
cmake -S "$source/native" -B "$folder" "$@"
cmake --build "$folder" --parallel "${MAX_JOBS:-$(getconf _NPROCESSORS_ONLN)}"
[ "$tracing" = ON ] || cmake --install "$folder" --prefix "$folder/install" >/dev/null
for program in $built; do
  cp "$folder/$program" "$programs/$program.new"
  mv "$programs/$program.new" "$programs/$program"
  echo "built $programs/$program"
done
