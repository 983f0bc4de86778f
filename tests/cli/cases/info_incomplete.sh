gfxgraph info "$SOURCE/tests/golden/incomplete.gfxg"
