gfxgraph-record -o t.gfxg
