# How many buffers came out at their recorded address is counted, and the exit code does not depend on it.
gfxgraph-record --device emulated -o saxpy.gfxg -- "$BUILD/samples/saxpy" > /dev/null 2>&1
for layout in same shift; do
  code=0
  gfxgraph-replay saxpy.gfxg --device emulated --mode batch --layout $layout --json report.json > out.txt 2> /dev/null || code=$?
  echo "$layout: exit code $code"
  read -r _ kept _ all _ _ _ _ _ moved _ kind < <(grep ^addresses: out.txt)
  echo "of $all buffers $((kept + moved)) are counted $kind"
  grep -q "^    \"moved\": $moved,$" report.json && grep "^    \"movable\"" report.json
  if [ $layout = shift ]; then echo "moved: $moved"; fi
done
