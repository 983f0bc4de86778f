# Opening a pipe that nobody reads must not wait.
mkfifo t.gfxg.partial
gfxgraph-record --force --device emulated -o "$PWD/t.gfxg" -- /bin/true
