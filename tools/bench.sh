#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench.sh [FOLDER]: every comparison of bench/, one table each; the samples
# behind the tables go to FOLDER (default build/bench). Wants a quiet machine.
set -euo pipefail
source "$(dirname "$0")/env.sh"
cd "$root"
out=${1:-build/bench}
mkdir -p "$out"
python=$root/.venv-bench/bin/python
for script in bench/step.py bench/ddp.py bench/data.py bench/comm.py bench/what_if.py bench/viewers.py; do
  [ -e "$script" ] || continue
  name=$(basename "$script" .py)
  echo "# $script: the record is $out/$name.json" >&2
  python3 "$script" --python "$python" --out "$out/$name.json"
done
if [ -x build/bin/recording_bench ]; then
  echo "# what recording costs: $out/recording.json" >&2
  build/bin/recording_bench 1000 | tee "$out/recording.json"
fi
if [ -x build/bin/kernels_bench ]; then build/bin/kernels_bench; fi
