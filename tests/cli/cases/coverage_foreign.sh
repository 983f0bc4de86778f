head -c 100 /dev/zero > zeros.co; gfxgraph coverage zeros.co
