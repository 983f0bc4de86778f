gfxgraph run -- /bin/sh -c "exit 42"
