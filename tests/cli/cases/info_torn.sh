gfxgraph info "$SOURCE/tests/golden/torn.gfxg"
