gfxgraph run -- no-such-program-anywhere
