printf "#!/bin/sh\necho script; exit 3\n" > script
chmod +x script
gfxgraph run -- ./script
