#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# reports.sh [OUT]: a page for each run, study or validation in results/, into OUT
# (build/reports). LOCKSTEP_BIN: the program, build/bin/lockstep.
set -euo pipefail
source "$(dirname "$0")/env.sh"
cd "$root"
out=${1:-build/reports}
lockstep=${LOCKSTEP_BIN:-build/bin/lockstep}
mkdir -p "$out"
list=""
for folder in results/*/; do
  name=$(basename "$folder")
  # Benches have no run folder.
  if [ ! -e "$folder/record.json" ] && [ ! -e "$folder/ledger.jsonl" ] && [ ! -d "$folder/runs" ] &&
    [ ! -e "$folder/validation.json" ]; then
    echo "$name has no run or study: see $folder"
    continue
  fi
  "$lockstep" report "$folder" --html "$out/$name.html" > /dev/null
  list+="<li><a href=\"$name.html\">$name</a></li>"
done
cat > "$out/index.html" << EOF
<!doctype html><html lang="en"><meta charset="utf-8"><title>Lockstep: results</title>
<body style="font-family: sans-serif"><h1>Results</h1><ul>$list</ul></body></html>
EOF
echo "pages: $out/index.html"
