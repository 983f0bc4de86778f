gfxgraph run
