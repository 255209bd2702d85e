#!/bin/sh
# Run a linker and note the link, where nothing can be preloaded into it.
#
#   sh wrapper.sh PROGRAM NAME WORDS…    run PROGRAM under NAME
#   FOLDER/ld WORDS…                     find the linker of this name that comes after FOLDER
#
# record_links.c describes the note.
record=$SIZEGUARD_LINKS
case ${0##*/} in
wrapper.sh)
  program=$1
  shift 2
  ;;
*)
  name=${0##*/}
  own=$(cd "${0%/*}" && pwd -P)
  program=
  places=
  IFS=:
  for folder in $PATH; do
    case $folder in "${own%/*}"/*) ;; *) places=$places:$folder ;; esac
  done
  parent=$(readlink "/proc/$PPID/exe")
  case ${parent##*/} in
  clang*)
    # clang has folders of its own, and prefers a linker that is named after the target.
    first=$(tr '\0' '\n' <"/proc/$PPID/cmdline" | head -n 1)
    target=$(tr '\0' '\n' <"/proc/$PPID/cmdline" | grep '^--target=' | tail -n 1)
    program=$(COMPILER_PATH='' PATH=${places#:} "$first" ${target:+"$target"} "-print-prog-name=$name")
    case $program in /*) ;; *) program= ;; esac
    ;;
  esac
  # gcc names the folders of its target's linker in COMPILER_PATH.
  [ -n "$program" ] || for folder in $COMPILER_PATH $places; do
    [ -n "$folder" ] || folder=.
    [ -f "$folder/$name" ] && [ -x "$folder/$name" ] || continue
    case $(cd "$folder" && pwd -P) in "${own%/*}"/*) continue ;; esac
    program=$folder/$name
    break
  done
  unset IFS
  if [ -z "$program" ]; then
    echo "sizeguard record: no $name after $own" >&2
    exit 127
  fi
  ;;
esac

now() { # nanoseconds since 1970
  date +%s%N
}

# One folder a run: a process has one number as long as it lives.
began=$(now)
place=$record/$$-$began
if [ -z "$record" ] || [ -n "$SIZEGUARD_LINKS_WRAPPED" ] || ! mkdir "$place" 2>/dev/null; then
  exec "$program" "$@"
fi
count=0
output=a.out
note() { # FILE FIELD…
  file=$place/$1
  shift
  printf '%s\0' "$@" >>"$file"
}
input() { # PATH
  [ -f "$1" ] || return 0
  size=$(stat -Lc %s -- "$1")
  changed=$(stat -Lc %.9Y -- "$1" | tr -d .,) # some locales write a comma
  status=$(stat -Lc %.9Z -- "$1" | tr -d .,)
  copy=
  if [ "$status" -ge "${SIZEGUARD_LINKS_SINCE:-0}" ]; then
    if ln -L -- "$1" "$place/$count" 2>/dev/null || cp -p -- "$1" "$place/$count" 2>/dev/null; then
      copy=$count
      count=$((count + 1))
    fi
  fi
  note inputs "$1" "$size" "$changed" "$copy"
}
note link "$program" "$(pwd -P)" "$began" "$program" "$@"
# Nobody puts the wrapper before this linker again, nor before what it starts.
SIZEGUARD_LINKS_WRAPPED=1
export SIZEGUARD_LINKS_WRAPPED
previous=
for word; do
  case $previous in
  -o | --output) output=$word ;;
  -Map | --Map | -soname | --soname | -h | -rpath | --rpath | -dynamic-linker | --dependency-file | -plugin) ;;
  *)
    case $word in
    --output=*) output=${word#*=} ;;
    -Map=* | --Map=* | -plugin* | --dependency-file=*) ;;
    -o?*) output=${word#-o} ;;
    @*) input "${word#@}" ;;
    -*=*) input "${word#*=}" ;;
    -T?*) input "${word#-T}" ;;
    -*) ;;
    *) input "$word" ;;
    esac
    ;;
  esac
  previous=$word
done
"$program" "$@"
code=$?
[ "$code" = 0 ] && ln -L -- "$output" "$place/image" 2>/dev/null
note ended "$code" "$(now)"
exit "$code"
