gfxgraph verify "$SOURCE"/tests/golden/bad/newer*.gfxg
