gfxgraph run -- /bin/echo "passes arguments through" --device nonsense
