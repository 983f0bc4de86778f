# Sourced by scripts that use programs and libraries of Debian's packages without installing them.
# shellcheck shell=bash
#
# Packages are unpacked to SUITE/unpacked/PACKAGE in $GFXGRAPH_LIBRARIES, else in
# ~/.cache/gfxgraph/libraries. What is there is used as it is; what was interrupted goes on. Nothing of
# this machine's own packages changes. The archives, their keys and the list of what is there already
# (the HIP runtime) are those of scripts/runtime-root's folders, which are made when they are missing.

libraries=${GFXGRAPH_LIBRARIES:-${XDG_CACHE_HOME:-$HOME/.cache}/gfxgraph/libraries}
scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# The root's own apt must not meet APT_CONFIG, which is another suite's by then.
suite_root() { env -u APT_CONFIG "$scripts/runtime-root" "$1"; }

# apt_folder SUITE: from here on apt-get and apt-cache are SUITE's, in a folder of their own.
apt_folder() {
  local suite=$1 apt=$libraries/$1/apt root
  mkdir -p "$libraries/$suite"
  root=$(suite_root "$suite")
  export APT_CONFIG=$apt/apt.conf
  [ -f "$apt/complete" ] && return
  rm -rf "$apt"
  mkdir -p "$apt"/{state/lists/partial,cache/archives/partial,etc/apt.conf.d,etc/preferences.d}
  : > "$apt/state/status"
  cp "$root/etc/apt/sources.list" "$apt/sources.list"
  # The root of experimental is sid, with ROCm's packages of experimental preferred.
  if [ "$suite" = experimental ]; then
    cat "$root/etc/apt/sources.list.d/experimental.list" >> "$apt/sources.list"
    cp "$root/etc/apt/preferences.d/experimental" "$apt/etc/preferences.d/"
  fi
  # Suites under development let their release files expire; they are still signed.
  cat > "$apt/apt.conf" <<END
Dir::State "$apt/state";
Dir::State::status "$apt/state/status";
Dir::Cache "$apt/cache";
Dir::Etc "$apt/etc";
Dir::Etc::sourcelist "$apt/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::trustedparts "$root/etc/apt/trusted.gpg.d";
Acquire::Check-Valid-Until "false";
Acquire::Languages "none";
Acquire::Retries "3";
APT::Architecture "amd64";
APT::Architectures { "amd64"; };
END
  apt_update "$suite" || return 1
  touch "$apt/complete"
}

# apt_update SUITE: apt-get update answers 0 even when it read nothing, except with this option.
apt_update() {
  if ! apt-get -qq -o APT::Update::Error-Mode=any update >&2; then
    echo "$suite's package lists cannot be read from $libraries/$1/apt/sources.list: is there a network?" >&2
    return 1
  fi
}

# needed SUITE PACKAGE...: these packages and all they depend on that the suite's root does not have.
needed() {
  local suite=$1 root uris
  shift
  root=$(suite_root "$suite")
  if ! uris=$(apt-get -qq --print-uris --no-install-recommends \
    -o Dir::State::status="$root/var/lib/dpkg/status" install "$@"); then
    echo "$suite has no installable $*: see scripts/runtime-root, or remove $libraries/$suite/apt" >&2
    return 1
  fi
  awk '{ sub(/_.*/, "", $2); print $2 }' <<< "$uris"
}

# download SUITE PACKAGE FOLDER: one .deb; apt verifies what is there already and goes on with half a file.
download() {
  (cd "$3" && apt-get -qq -o APT::Sandbox::User=root download "$2" >&2) && return
  # An archive drops a package's old version soon after the new one; the lists may be older.
  echo "$2 from $1: reading newer package lists" >&2
  apt_update "$1" && (cd "$3" && apt-get -qq -o APT::Sandbox::User=root download "$2" >&2) && return
  echo "$2 from $1 cannot be downloaded; called again, this goes on where it stopped" >&2
  return 1
}

# unpack SUITE PACKAGE
unpack() {
  local folder=$libraries/$1/unpacked/$2 debs=$libraries/$1/debs
  [ -f "$folder.complete" ] && return
  echo "unpacking $2 from $1" >&2
  mkdir -p "$debs" "$folder"
  download "$1" "$2" "$debs" || return 1
  if ! dpkg-deb -x "$debs/$2"_*.deb "$folder"; then
    rm -f "$debs/$2"_*.deb
    echo "$2 from $1 cannot be unpacked to $folder (is the disk full?)" >&2
    return 1
  fi
  rm -f "$debs/$2"_*.deb
  touch "$folder.complete"
}

# unpack_all: the packages of the associative array `packages`, suite -> names. Their folders are in the array `folders`.
unpack_all() {
  local suite package
  mkdir -p "$libraries"
  exec 9> "$libraries/lock"
  flock 9
  folders=()
  # shellcheck disable=SC2154
  for suite in "${!packages[@]}"; do
    apt_folder "$suite" || return 1
    for package in ${packages[$suite]}; do
      unpack "$suite" "$package" || return 1
      folders+=("$libraries/$suite/unpacked/$package")
    done
  done
  flock -u 9
}

# device_files: all files of `folders` with device code, sorted. Host files have a section for it, code objects the GPU
# in their name.
device_files() {
  {
    find "${folders[@]}" -type f \( -name '*gfx1030*.co' -o -name '*gfx1030*.hsaco' \)
    find "${folders[@]}" -type f \( -name '*.so*' -o -perm -u+x \) -size +16k -exec grep -la hip_fatbin {} +
  } | sort
}
