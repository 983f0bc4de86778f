gfxgraph --version
