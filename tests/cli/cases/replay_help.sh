gfxgraph-replay --help > help.txt
grep -q -- --layout help.txt
