cp "$SOURCE/tests/golden/torn.gfxg" t.gfxg.partial
gfxgraph recover t.gfxg.partial || echo "exit code $?"
gfxgraph verify t.gfxg
