gfxgraph check missing.gfxg --launch 7:3
