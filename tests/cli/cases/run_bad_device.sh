gfxgraph run --device quantum -- /bin/true
