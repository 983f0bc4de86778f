touch true.gfxg
gfxgraph-record -- /bin/true
