#!/bin/bash
# record_and_replay.sh BIN TRACE PROGRAM [ARGUMENTS...]
#
# Records PROGRAM on the software agent with the programs of the folder BIN, into TRACE, and replays the trace in every
# mode at both layouts, and REPEAT times (6) with the same graphs, every run compared. Prints each command that failed with what
# it printed; exits 0 when none did.
#
# RECORD_OPTIONS: words that gfxgraph-record gets as well. PACKETS_MAY_BE_REFUSED=1: mode packets may refuse any program by
# name; other compilers than this machine's list other hidden arguments. PACKETS_ONLY=1: batch mode and mode packets alone.
set -uo pipefail
read -ra options <<<"${RECORD_OPTIONS:-}"
bin=$1 trace=$2 program=$3
shift 3
failed=0

must() {
  local status=0
  timeout 300 "$@" >"$trace.out" 2>&1 </dev/null || status=$?
  if [ "$status" -ne 0 ]; then
    printf '%s\nended with %d:\n' "$*" "$status"
    tail -n 20 "$trace.out"
    failed=1
  fi
  return "$status"
}

must "$bin/gfxgraph-record" --device emulated --force "${options[@]}" -o "$trace" -- "$program" "$@" || exit 1
# Mode packets refuses what only HIP can do: packets_refused.txt holds for which programs, and why.
refusal=$(sed -n "s/^$(basename "$trace" .gfxg)  *//p" "$(dirname "$0")/packets_refused.txt")

# packets LAYOUT ORDER: packets run in another order than submitted where they allow that.
packets() {
  local replay=(env "GFXGRAPH_PACKET_ORDER=$2" "$bin/gfxgraph-replay" "$trace" --device emulated --mode packets --layout "$1" --verify)
  if [ -z "$refusal" ] && [ "${PACKETS_MAY_BE_REFUSED:-0}" = 1 ] && ! timeout 300 "${replay[@]}" >"$trace.out" 2>&1 </dev/null &&
    grep -F "mode packets: " "$trace.out"; then
    refusal="mode packets: "
  elif [ -z "$refusal" ]; then
    must "${replay[@]}"
  elif timeout 300 "${replay[@]}" >"$trace.out" 2>&1 </dev/null || ! grep -qF "$refusal" "$trace.out"; then
    printf '%s\nwas not refused with "%s":\n' "${replay[*]}" "$refusal"
    tail -n 20 "$trace.out"
    failed=1
  fi
}

packets same reversed
if [ "${PACKETS_ONLY:-0}" = 1 ]; then
  packets shift submitted
  for layout in same shift; do
    must "$bin/gfxgraph-replay" "$trace" --device emulated --mode batch --layout "$layout" --verify
  done
  exit "$failed"
fi
for mode in eager batch graph; do
  must "$bin/gfxgraph-replay" "$trace" --device emulated --mode "$mode" --layout same --verify
done
# Buffers elsewhere: all modes in one process. HIP's start takes most of a short replay.
if must "$bin/gfxgraph-replay" "$trace" --device emulated --bench --repeat 1 --layout shift; then
  for mode in eager batch graph packets; do
    if [ $mode = packets ] && [ -n "$refusal" ]; then continue; fi
    if grep -qE "^$mode +(identical|not compared)" "$trace.out"; then continue; fi
    printf 'not replayed in mode %s with other addresses:\n' "$mode"
    cat "$trace.out"
    failed=1
  done
fi
# What a graph launch spoils shows when the same graph is launched again (HIP 6.4.3: memset nodes, from the second on).
must "$bin/gfxgraph-replay" "$trace" --device emulated --mode graph --repeat "${REPEAT:-6}" --verify
exit "$failed"
