gfxgraph check missing.gfxg -o /dev/full
