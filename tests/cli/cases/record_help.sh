gfxgraph-record --help > help.txt
grep -q -- --output help.txt
