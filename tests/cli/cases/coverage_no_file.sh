gfxgraph coverage
