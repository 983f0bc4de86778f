gfxgraph info "$SOURCE/tests/golden/everything.gfxg" >&-
