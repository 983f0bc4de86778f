ln -s /dev/null null
gfxgraph-record --force --device emulated -o "$PWD/null" -- /bin/true || code=$?
test -L null
exit "$code"
