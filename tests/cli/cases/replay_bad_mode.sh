gfxgraph-replay missing.gfxg --mode sideways
