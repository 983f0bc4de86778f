"$BUILD/tests/attack_file" small_fills t.gfxg
for mode in eager batch graph; do
  for layout in same shift; do
    timeout 60 gfxgraph-replay t.gfxg --device emulated --verify --mode $mode --layout $layout 2>&1 | grep "^buffers:"
  done
done
