gfxgraph info --bogus x.gfxg
