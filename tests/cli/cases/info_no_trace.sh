gfxgraph info
