gfxgraph-replay --help > /dev/full
