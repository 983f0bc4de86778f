gfxgraph info missing.gfxg
