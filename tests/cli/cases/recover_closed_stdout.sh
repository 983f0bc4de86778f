# The new trace must not get the number of the closed stdout.
gfxgraph recover "$SOURCE/tests/golden/torn.gfxg" -o new.gfxg >&- || test $? = 3
gfxgraph verify new.gfxg
