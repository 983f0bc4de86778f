gfxgraph check missing.gfxg --tool memcheck,leakcheck
