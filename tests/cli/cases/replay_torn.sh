gfxgraph-replay "$SOURCE/tests/golden/torn.gfxg" --device emulated
