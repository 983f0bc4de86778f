# A write that fails is an error, and leaves nothing behind.
"$BUILD/tests/attack_file" none attack.gfxg
code=0
(ulimit -f 1; exec gfxgraph check attack.gfxg -o report.sarif --format sarif >out 2>err) || code=$?
echo "$code"
grep -c 'report.sarif' err
find . -name 'report.sarif*' | wc -l
