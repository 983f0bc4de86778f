gfxgraph run -- ./no-such-program
