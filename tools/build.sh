#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build.sh PRESET [TARGET...]: configure and build one preset of CMakePresets.json.
set -euo pipefail
source "$(dirname "$0")/env.sh"
cd "$root"
preset=$1
shift
folder=build-$preset
if [ "$preset" = release ]; then folder=build; fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
cmake --preset "$preset" > "$log" 2>&1 || { cat "$log" >&2; fail "could not configure $folder (above)"; }
ninja -C "$folder" -j "$(jobs)" "$@"
