#!/bin/bash
# read_only_roots.sh SCRIPTS: scripts/runtime-root names a complete root to a user who may not write where the roots are.
# 77, skipped: that user cannot read the folder SCRIPTS.
set -euo pipefail
scripts=$1 as=()
if [ "$(id -u)" -eq 0 ]; then as=(setpriv --reuid=65534 --regid=65534 --clear-groups); fi
if ! "${as[@]}" test -x "$scripts/runtime-root"; then
  echo "user 65534 cannot read $scripts"
  exit 77
fi
roots=$(mktemp -d)
trap 'chmod -R u+w "$roots"; rm -rf "$roots"' EXIT
mkdir "$roots/forky"
printf '%s\n' ccache hipcc libamdhip64-dev >"$roots/forky/.gfxgraph-complete"
chmod -R a-w,a+rX "$roots"
printed=$(GFXGRAPH_ROOTS=$roots "${as[@]}" "$scripts/runtime-root" forky)
[ "$printed" = "$roots/forky" ]
