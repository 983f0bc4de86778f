gfxgraph check missing.gfxg --masked-lane=perhaps
