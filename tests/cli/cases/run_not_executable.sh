echo "text" > file
gfxgraph run -- ./file
