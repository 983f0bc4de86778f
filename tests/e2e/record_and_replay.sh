#!/bin/bash
# record_and_replay.sh BIN TRACE PROGRAM [ARGUMENTS...]
#
# Records PROGRAM on the software agent with the programs of the folder BIN, into TRACE, and replays the trace in every
# mode at both layouts, every run compared. Prints each command that failed with what it printed; exits 0 when none did.
#
# If the first of ARGUMENTS is uncompared-copies, the program does not get it, and a replay may end with 3 because it could
# not compare copies: what nodes of launched graphs copied to the host is not recorded.
# RECORD_OPTIONS: words that gfxgraph-record gets as well.
set -uo pipefail
read -ra options <<<"${RECORD_OPTIONS:-}"
bin=$1 trace=$2 program=$3
shift 3
uncompared=false
if [ "${1:-}" = uncompared-copies ]; then
  uncompared=true
  shift
fi
failed=0

must() {
  local status=0
  timeout 300 "$@" >"$trace.out" 2>&1 </dev/null || status=$?
  if $uncompared && [ "$status" -eq 3 ] && grep -q ': 0 of .* buffers and .* copies were not compared' "$trace.out"; then
    return
  fi
  if [ "$status" -ne 0 ]; then
    printf '%s\nended with %d:\n' "$*" "$status"
    tail -n 20 "$trace.out"
    failed=1
  fi
  return "$status"
}

must "$bin/gfxgraph-record" --device emulated --force "${options[@]}" -o "$trace" -- "$program" "$@" || exit 1
for mode in eager batch graph; do
  for layout in same shift; do
    must "$bin/gfxgraph-replay" "$trace" --device emulated --mode "$mode" --layout "$layout" --verify
  done
done
exit "$failed"
