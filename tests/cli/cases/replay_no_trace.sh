gfxgraph-replay
