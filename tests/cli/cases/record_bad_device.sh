gfxgraph-record --device quantum -o t.gfxg -- /bin/true
