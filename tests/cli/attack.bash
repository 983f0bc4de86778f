# Gives a trace of tests/fuzz/attack_file.cpp to every command that reads traces, and prints how each
# ended. Each must end by itself within a minute, with an exit code of the contract, and print nothing
# that a terminal obeys.
#   bash attack.bash NAME [OPTIONS OF gfxgraph-replay]; VERIFY_SECONDS: for verify, 50 otherwise

code=0
# Runs a command, and says what it did wrong.
hold() {
  code=0
  timeout -k 1 60 "$@" >out 2>err </dev/null || code=$?
  if [ "$code" -gt 4 ]; then
    echo "  $*: $code, not an exit code of the contract"
    cut -c1-300 err
  fi
  if grep -nE 'the worker process crashed|the sandbox forbids' err; then
    echo "  only the sandbox held"
  fi
  if LC_ALL=C grep -nP '[^\x09\x0a\x20-\x7e\x80-\xff]|\xe2\x80[\x8e\x8f\xa8-\xae]' out err; then
    echo "  control characters"
  fi
  if grep -n '^error: ' out err; then
    echo "  a line that the trace wrote"
  fi
  if [ "$(stat -c %s out)" -gt 100000000 ]; then
    echo "  100 MB of text"
  fi
}

# "info --json: 3", and below it the lines of stderr without what differs from run to run.
try() {
  hold "$@" >wrong
  echo "${*:1}: $code"
  cat wrong
  { grep -vE ': (device|memory): ' err || true; } | sed -n '1,3s/^/  /p' | cut -c1-200 | sed 's/ *$//'
}

"$BUILD/tests/attack_file" "$1" attack.gfxg
shift
cp attack.gfxg again.gfxg
short=(--max-seconds 10 --max-memory 4GiB)
limits=(--max-seconds 50 --max-memory 4GiB)
budget=(--max-memory 8GiB --max-instructions 1000000)
try gfxgraph info attack.gfxg "${limits[@]}"
try gfxgraph info attack.gfxg --relocations "${limits[@]}"
try gfxgraph info attack.gfxg --json "${limits[@]}"
try gfxgraph info attack.gfxg --ranges --lint "${limits[@]}"
try gfxgraph info attack.gfxg --ranges --lint --json "${limits[@]}"
try gfxgraph report attack.gfxg -o attack.html "${limits[@]}"
try gfxgraph verify attack.gfxg --max-seconds "${VERIFY_SECONDS:-50}" --max-memory 4GiB
try gfxgraph coverage attack.gfxg --kernels --max-seconds 50
try gfxgraph recover attack.gfxg -o recovered.gfxg "${limits[@]}"
try gfxgraph check attack.gfxg "${budget[@]}"
try gfxgraph check attack.gfxg --format json "${budget[@]}"
try gfxgraph-replay attack.gfxg --device emulated --allow-incomplete --mode graph "$@"
for format in perfetto jsonl dot disassembly; do
  hold gfxgraph export attack.gfxg --format "$format" "${short[@]}"
done
hold gfxgraph export attack.gfxg --format code -o code_objects "${short[@]}"
hold gfxgraph diff attack.gfxg again.gfxg "${short[@]}"
hold gfxgraph provenance attack.gfxg --list "${short[@]}" --max-instructions 1000000
hold gfxgraph provenance attack.gfxg --write -o proven.gfxg "${short[@]}" --max-instructions 1000000
hold gfxgraph info attack.gfxg --dag json "${short[@]}" --max-instructions 1000000
hold gfxgraph info attack.gfxg --kernels --count "${short[@]}" --max-instructions 1000000
hold gfxgraph extract attack.gfxg -o part.gfxg --launches 0:1 "${short[@]}" --max-instructions 1000000
