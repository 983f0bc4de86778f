gfxgraph-record --device emulated -o no/such/folder/t.gfxg -- /bin/true
