gfxgraph --help
