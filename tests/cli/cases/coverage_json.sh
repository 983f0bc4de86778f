cp "$BUILD"/tests/tools/walk.co walk.co
gfxgraph coverage --json walk.co | head -n 12
exit "${PIPESTATUS[0]}"
