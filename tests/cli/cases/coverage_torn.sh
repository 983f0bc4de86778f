gfxgraph coverage "$SOURCE"/tests/golden/torn.gfxg
