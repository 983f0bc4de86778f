gfxgraph info .
