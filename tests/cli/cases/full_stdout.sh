# A report that cannot be written is an error: the exit code is 1, or the command's own if that is another error.
try() {
  local code=0
  timeout 60 "$@" > /dev/full 2> err.txt || code=$?
  echo "${*/#"$SOURCE/tests/golden/"}: $code"
  grep 'output was not written' err.txt || sed 's/^/  /' err.txt
}

golden=$SOURCE/tests/golden
gfxgraph-record --device emulated -o saxpy.gfxg -- "$BUILD/samples/saxpy" > /dev/null 2>&1
cp "$golden/torn.gfxg" torn.gfxg.partial
try gfxgraph verify "$golden/compressed.gfxg"
try gfxgraph check saxpy.gfxg
try gfxgraph check saxpy.gfxg --format json
try gfxgraph coverage saxpy.gfxg --kernels
try gfxgraph coverage saxpy.gfxg --json
try gfxgraph recover torn.gfxg.partial
try gfxgraph recover saxpy.gfxg -o copy.gfxg
try gfxgraph info saxpy.gfxg --json
try gfxgraph-replay saxpy.gfxg --device emulated --mode batch
try gfxgraph-replay saxpy.gfxg --device emulated --mode batch --json -
try gfxgraph-replay saxpy.gfxg --list
try gfxgraph-replay saxpy.gfxg --device emulated --mode batch --quiet --json /dev/full
