"$BUILD/tests/attack_file" none attack.gfxg
gfxgraph check attack.gfxg --kernel 'nobody*'
