#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# reports.sh [OUT]: a page for each run or study in results/, into OUT
# (build/reports). LOCKSTEP_BIN: the program, build/bin/lockstep.
set -euo pipefail
source "$(dirname "$0")/env.sh"
cd "$root"
out=${1:-build/reports}
lockstep=${LOCKSTEP_BIN:-build/bin/lockstep}
mkdir -p "$out"
for folder in results/*/; do
  # Benches have no run folder.
  if [ ! -e "$folder/record.json" ] && [ ! -e "$folder/ledger.jsonl" ] && [ ! -d "$folder/runs" ]; then
    continue
  fi
  "$lockstep" report "$folder" --html "$out/$(basename "$folder").html" > /dev/null
done
