gfxgraph-replay "$SOURCE/tests/golden/incomplete.gfxg" --device emulated
