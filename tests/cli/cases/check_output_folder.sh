gfxgraph check missing.gfxg -o missing/report.json --format json
