printf "this is a text and by no means a trace of anything\n" > foreign.gfxg
gfxgraph info foreign.gfxg
