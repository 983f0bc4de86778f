head -c 5000 /bin/sh > foreign.gfxg
gfxgraph-replay foreign.gfxg --device emulated
