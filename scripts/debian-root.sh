# Sourced by scripts that make a folder with another Debian system in it, by mmdebstrap.
# shellcheck shell=bash

# Folders live in $GFXGRAPH_ROOTS, else here.
# shellcheck disable=SC2034  # by who sources this
roots=${GFXGRAPH_ROOTS:-${XDG_CACHE_HOME:-$HOME/.cache}/gfxgraph/roots}

# ROCm's packages. Debian's experimental is no whole system: a root of that name is sid, with these from experimental.
rocm_packages='/^(lib)?(amdhip|hip|hiprtc|hsa|amd-comgr|roc|miopen|migraphx|rccl|composable-kernel)/'

# debian_root SUITE VARIANT PACKAGES FOLDER ARCHIVES: makes FOLDER anew, with PACKAGES (comma-separated). Downloaded
# packages are kept in ARCHIVES, so that what is interrupted goes on, and what is made again downloads nothing.
debian_root() {
  local suite=$1 variant=$2 packages=$3 folder=$4 in_namespace=() hooks=() options=() other
  if ! command -v mmdebstrap >/dev/null; then
    echo "mmdebstrap is not installed: apt-get install mmdebstrap" >&2
    return 1
  fi
  mkdir -p "$5"
  # In a mount namespace of its own, whose mounts end with it, the archives are a folder of the root. Who is not root
  # copies what there is.
  # shellcheck disable=SC2016  # expanded by mmdebstrap's shell
  if [ "$(id -u)" -eq 0 ]; then
    in_namespace=(unshare --mount)
    hooks=('--setup-hook=mkdir -p "$1/var/cache/apt/archives" && mount --bind "$ARCHIVES" "$1/var/cache/apt/archives"')
  else
    hooks=('--setup-hook=mkdir -p "$1/var/cache/apt/archives" && cp -a "$ARCHIVES/." "$1/var/cache/apt/archives/"'
      '--customize-hook=cp -a "$1/var/cache/apt/archives/"*.deb "$ARCHIVES" 2>/dev/null || true')
  fi
  if [ "$suite" = experimental ]; then
    suite=sid
    # shellcheck disable=SC2016  # expanded by mmdebstrap's shell
    hooks+=('--setup-hook=sed "s/ sid / experimental /" "$1/etc/apt/sources.list" > "$1/etc/apt/sources.list.d/experimental.list"'
      '--setup-hook=printf "Package: %s\nPin: release a=experimental\nPin-Priority: 990\n" "$ROCM_PACKAGES" > "$1/etc/apt/preferences.d/experimental"')
  fi
  # ROCm's libraries bring kernels for each GPU, a file or more for each: 10 GB, of which the agent's is a twentieth.
  for other in 'gfx[!1]' 'gfx1[!0]' 'gfx10[!3]'; do
    options+=("--dpkgopt=path-exclude=/usr/lib/x86_64-linux-gnu/*/library/*$other*")
  done
  rm -rf --one-file-system "$folder"
  # Suites under development let their release files expire; they are still signed.
  ARCHIVES=$5 ROCM_PACKAGES=$rocm_packages "${in_namespace[@]}" mmdebstrap --variant="$variant" --include="$packages" \
    --aptopt='Acquire::Check-Valid-Until "false"' \
    --aptopt='APT::Install-Recommends "false"' \
    --aptopt='APT::Keep-Downloaded-Packages "true"' \
    "${options[@]}" "${hooks[@]}" --skip=essential/unlink,cleanup/apt \
    "$suite" "$folder" >&2 || return 1
  rm -f "$folder"/var/cache/apt/archives/*.deb
}
