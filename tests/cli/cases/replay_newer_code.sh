"$BUILD/tests/attack_file" newer_code t.gfxg
gfxgraph-replay t.gfxg --device emulated --quiet
