gfxgraph recover missing.gfxg -o new.gfxg
