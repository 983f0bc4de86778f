gfxgraph-record -- /bin/true
