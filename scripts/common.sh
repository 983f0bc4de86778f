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

# build PRESET [targets...]: the same, with ninja's output on failure.
build() {
  local preset=$1 log
  shift
  log=build/$preset/build.log
  if [ -n "${GFXGRAPH_VERBOSE:-}" ]; then
    cmake --build "build/$preset" -j "$jobs" ${1+--target "$@"} </dev/null
  elif ! cmake --build "build/$preset" -j "$jobs" ${1+--target "$@"} >"$log" 2>&1 </dev/null; then
    grep -n -m 1 -A 80 'FAILED' "$log" >&2 || tail -n 80 "$log" >&2
    return 1
  fi
}
