mknod -m 666 null c 1 3 2> mknod.txt || ln -s /dev/null null
gfxgraph recover "$SOURCE/tests/golden/torn.gfxg" -o "$PWD/null" || code=$?
test -c null
exit "$code"
