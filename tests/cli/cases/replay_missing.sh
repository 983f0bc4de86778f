gfxgraph-replay missing.gfxg --device emulated
