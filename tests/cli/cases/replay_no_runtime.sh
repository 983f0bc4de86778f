# No HIP runtime can be loaded: the message names the package of the one that the trace was recorded with, or all.
for version in 7 6 5; do : > "libamdhip64.so.$version"; done
for trace in compressed chunks; do
  code=0
  LD_LIBRARY_PATH=$PWD gfxgraph-replay "$SOURCE/tests/golden/$trace.gfxg" --device emulated --allow-incomplete 2> err.txt || code=$?
  echo "$trace: exit code $code"
  sed -n 's/.*no HIP runtime: //p' err.txt | sed "s|$PWD/||g"
done
