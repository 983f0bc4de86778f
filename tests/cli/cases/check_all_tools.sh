"$BUILD/tests/attack_file" none attack.gfxg
gfxgraph check attack.gfxg --tool all
gfxgraph check attack.gfxg --tool racecheck,initcheck --format json | grep -A3 '"tools"'
