gfxgraph record --device emulated -- "$BUILD/samples/saxpy" > /dev/null 2>&1
ls
gfxgraph replay saxpy.gfxg --device emulated --quiet
