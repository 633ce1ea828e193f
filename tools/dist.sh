#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# dist.sh [BUILD [FOLDER]]: dist/lockstep-VERSION, a folder that runs wherever
# LibTorch is (LD_LIBRARY_PATH=torch/lib): our program and libraries, the shared
# libraries a bare system lacks, recipes. LibTorch, CUDA and glibc stay outside.
set -euo pipefail
source "$(dirname "$0")/env.sh"
cd "$root"
build=${1:-build}
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:.*=//p' "$build/CMakeCache.txt")
out=${2:-$root/dist}/lockstep-$version
# What every Debian or Ubuntu has, and what comes with LibTorch.
outside='^(ld-linux.*|linux-vdso|lib(c|m|dl|rt|util|pthread|resolv|stdc\+\+|gcc_s|torch.*|c10.*|cu(da|dart|blas|dnn|fft|file|pti|rand|solver|sparse).*|nccl|nv.*))\.so'

# Absolute paths of the shared libraries a file needs, and those need.
needs() {
  LD_LIBRARY_PATH="${LOCKSTEP_TORCH:-}/lib" ldd "$1" | awk '$3 ~ /^\// {print $3}'
}

script=$(mktemp --suffix .cmake)
trap 'rm -f "$script"' EXIT
rm -rf "$out"
cmake --install "$build" --prefix "$out" --strip > /dev/null
# A folder to run, not to compile against.
rm -rf "$out/include" "$out/lib/cmake"
cp -r LICENSE README.md "$out"
if [ -d recipes ]; then cp -r recipes "$out"; fi
# LibTorch brings its own OpenMP, and a process may have only one.
if [ -e "$out/lib/liblockstep_train.so" ]; then outside="$outside|^libgomp\.so"; fi

for file in "$out"/bin/lockstep "$out"/lib/*.so; do
  needs "$file"
done | sort -u | while read -r library; do
  name=$(basename "$library")
  if [[ $name =~ $outside || -e $out/lib/$name ]]; then continue; fi
  cp -L "$library" "$out/lib/$name"
  # Our program's rpath holds for it too, unless it has one of its own.
  chmod u+w "$out/lib/$name"
  echo "file(RPATH_REMOVE FILE \"$out/lib/$name\")" > "$script"
  cmake -P "$script" > /dev/null
done

megabytes=$(du -sm "$out" | cut -f1)
[ "$megabytes" -lt 40 ] || fail "dist is $megabytes MB, it may have 40: see $out/lib"
echo "$out: $megabytes MB, $(find "$out/lib" -name '*.so*' | wc -l) libraries. Run: LD_LIBRARY_PATH=<folder torch>/lib $out/bin/lockstep doctor"
