gfxgraph run --bogus -- /bin/true
