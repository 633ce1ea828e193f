#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fuzz.sh [SECONDS]: builds the readers of recipes, hardware files, profiles and
# tables with libFuzzer, ASan and UBSan (clang 16 or newer), and feeds them for
# so many seconds in all (60). Finds go to build-fuzz/.
set -euo pipefail
source "$(dirname "$0")/env.sh"
cd "$root"
seconds=${1:-60}
clang=${CLANG:-$(command -v clang++-19 || command -v clang++-18 || command -v clang++)}
out=build-fuzz
mkdir -p "$out"
# NDEBUG as in a release: toml++ 3.3 asserts on keys its parser then refuses.
flags=(-std=c++20 -DNDEBUG -O1 -gline-tables-only -I. -DLOCKSTEP_VERSION='"fuzz"')
flags+=(-fsanitize=address -fsanitize=undefined -fno-sanitize-recover=undefined)
flags+=(-fsanitize-ignorelist=tests/fuzz/ignore.txt)

# The embedded data comes from a study build; only its sources are needed.
cmake -S . -B "$out/study" -DLOCKSTEP_TRAIN=OFF -DLOCKSTEP_DEV=OFF >"$out/configure.log"
sources=(lockstep/core/*.cpp lockstep/config/*.cpp lockstep/hardware/*.cpp lockstep/plan/profile.cpp
         lockstep/predict/table_{row,facts,names,terms,model,interval,predict}.cpp lockstep/predict/{verdict,timeline}.cpp
         "$out"/study/embedded/*.cpp)
object_of() { echo "$out/$(tr / _ <<<"$1").o"; }
# Built anew when anything it could depend on is newer: few files, no depfiles.
newest=$(git ls-files -z lockstep tests/fuzz tools/fuzz.sh | xargs -0 stat --format='%Y %n' | sort -n | tail -1 | cut -d' ' -f2-)
compile() {
  local object
  object=$(object_of "$1")
  [ "$object" -nt "$newest" ] || "$clang" "${flags[@]}" -fsanitize=fuzzer-no-link -c "$1" -o "$object"
}
pids=()
for source in "${sources[@]}" tests/fuzz/*_fuzz.cpp; do
  compile "$source" &
  pids+=($!)
  if [ ${#pids[@]} -ge 2 ]; then wait "${pids[0]}"; pids=("${pids[@]:1}"); fi
done
for pid in "${pids[@]}"; do wait "$pid"; done

objects=()
for source in "${sources[@]}"; do objects+=("$(object_of "$source")"); done
targets=(tests/fuzz/*_fuzz.cpp)
for target in "${targets[@]}"; do
  name=$(basename "$target" _fuzz.cpp)
  "$clang" "${flags[@]}" -fsanitize=fuzzer "$(object_of "$target")" "${objects[@]}" -lfmt -lpthread -o "$out/$name"
  mkdir -p "$out/corpus/$name"
  echo "fuzz: $name, $((seconds / ${#targets[@]})) s"
  "$out/$name" -max_total_time=$((seconds / ${#targets[@]})) -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$out/$name-" "$out/corpus/$name" "tests/fuzz/seeds/$name" >"$out/$name.log" 2>&1 ||
    { tail -30 "$out/$name.log"; exit 1; }
  grep -E "stat::number_of_executed_units|DONE" "$out/$name.log" | tail -1
done
