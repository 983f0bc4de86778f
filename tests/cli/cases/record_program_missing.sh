gfxgraph-record --device emulated -o t.gfxg -- ./no-such-program

