gfxgraph recover missing.gfxg
