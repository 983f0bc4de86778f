gfxgraph coverage missing.so
