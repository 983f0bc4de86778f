touch empty.gfxg
gfxgraph info empty.gfxg
