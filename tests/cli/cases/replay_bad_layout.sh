gfxgraph-replay missing.gfxg --layout upside-down
