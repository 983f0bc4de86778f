gfxgraph-record --help > /dev/full
