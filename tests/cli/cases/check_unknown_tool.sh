gfxgraph check missing.gfxg --tool memcheck,racecheck
