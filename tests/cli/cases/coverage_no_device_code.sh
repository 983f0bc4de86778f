gfxgraph coverage "$BUILD"/bin/gfxgraph
