cp "$BUILD"/tests/tools/walk.co walk.co
gfxgraph coverage --kernels walk.co
