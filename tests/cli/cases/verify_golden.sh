# Traces of every release stay readable.
gfxgraph verify "$SOURCE/tests/golden/everything.gfxg"
