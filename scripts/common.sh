# Sourced by scripts/demo and scripts/check, from the root of the repository.
# shellcheck shell=bash

jobs=$(nproc)
# Lets the compiler cache serve every clone of the repository, wherever it stands.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1

# configure PRESET [cmake options...]: silent unless it fails or GFXGRAPH_VERBOSE is set.
configure() {
  local preset=$1 log
  shift
  mkdir -p "build/$preset"
  log=build/$preset/configure.log
  if ! cmake --preset "$preset" "$@" >"$log" 2>&1 </dev/null; then
    cat "$log" >&2
    return 1
  fi
}

# build PRESET [targets...]: a line every half minute, and ninja's output on failure.
build() {
  local preset=$1 log job since=$SECONDS said=$SECONDS
  shift
  log=build/$preset/build.log
  if [ -n "${GFXGRAPH_VERBOSE:-}" ]; then
    cmake --build "build/$preset" -j "$jobs" ${1+--target "$@"} </dev/null
    return
  fi
  NINJA_STATUS='[%f/%t] ' cmake --build "build/$preset" -j "$jobs" ${1+--target "$@"} >"$log" 2>&1 </dev/null &
  job=$!
  while kill -0 "$job" 2>/dev/null; do
    sleep 1
    if [ $((SECONDS - said)) -ge 30 ]; then
      said=$SECONDS
      build_progress "$log" $((SECONDS - since))
    fi
  done
  if ! wait "$job"; then
    grep -n -m 1 -A 80 'FAILED' "$log" >&2 || tail -n 80 "$log" >&2
    return 1
  fi
}

# build_progress LOG SECONDS: how much of a build is done; all jobs count the same.
build_progress() {
  tail -n 1 "$1" | sed -n 's/^\[\([0-9]*\)\/\([0-9]*\)\].*/\1 \2/p' | {
    read -r finished all || return 0
    if [ "$finished" -eq 0 ]; then return 0; fi
    echo "$finished of $all compiled, about $(($2 * (all - finished) / finished)) s left"
  }
}
