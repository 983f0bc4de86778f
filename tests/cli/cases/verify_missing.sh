gfxgraph verify missing.gfxg
