gfxgraph run /bin/echo
