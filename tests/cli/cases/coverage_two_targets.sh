cp "$BUILD"/tests/codeobj/two_targets.bundle two.bundle
gfxgraph coverage two.bundle
