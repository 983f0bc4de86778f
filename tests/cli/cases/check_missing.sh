gfxgraph check missing.gfxg
