# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by the scripts here: where the tools, LibTorch and the data are.
# What the caller has set is kept.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export PATH="$root/.venv/bin:$PATH"

if [ -z "${LOCKSTEP_TORCH:-}" ]; then
  for folder in "$root"/.venv/lib/python3*/site-packages/torch; do
    [ -d "$folder/lib" ] && export LOCKSTEP_TORCH="$folder"
  done
fi
if [ -z "${LOCKSTEP_DATA:-}" ] && [ -d "$root/../shared/data" ]; then
  LOCKSTEP_DATA=$(cd "$root/../shared/data" && pwd)
  export LOCKSTEP_DATA
fi
# Open MPI refuses root, and refuses more ranks than cores, unless told.
if [ "$(id -u)" = 0 ]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
# Checkouts in two places share compiled objects; precompiled headers are
# cached only when ccache is told not to mind their dates. What a file depends
# on is the compiler's own list: no pass of the preprocessor before each.
export CCACHE_BASEDIR="${CCACHE_BASEDIR:-$root}" CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1
export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime

# One line that says what is wrong and what to do, then the end.
fail() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# A compiler on LibTorch's headers takes up to 2 GB: as many as fit.
jobs() {
  local cores kib
  cores=$(nproc)
  kib=$(awk '/^MemAvailable/ {print $2}' /proc/meminfo)
  local fit=$((kib / 2000000))
  if [ "$fit" -lt 1 ]; then fit=1; fi
  echo $((cores < fit ? cores : fit))
}
