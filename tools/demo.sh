#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# demo.sh: trains the two audio models on 2,000 spoken digits and prints what
# came of it. A CPU's epochs are few here; recipes/ say 100.
set -euo pipefail
source "$(dirname "$0")/env.sh"
cd "$root"
lockstep=build/bin/lockstep
runs=runs/demo-$(date -u +%Y%m%d-%H%M%S)
linear_epochs=${DEMO_LINEAR_EPOCHS:-20}
conv1d_epochs=${DEMO_CONV1D_EPOCHS:-20}
conv1d_clips=${DEMO_CONV1D_CLIPS:-2000}
begin=$SECONDS

# Real clips where they are or can be fetched, else made-up ones, and said so.
data=()
if ! $lockstep data check digits > /dev/null 2>&1; then
  if ! $lockstep data fetch digits; then
    echo "demo: no spoken digits here and none to be fetched: these are MADE-UP clips" >&2
    $lockstep data make digits "$runs/made-up-digits"
    data=(--set "data.path=$runs/made-up-digits")
  fi
fi

echo "demo: linear, all 2,000 clips, $linear_epochs epochs" >&2
$lockstep train recipes/linear.toml --out "$runs/linear" \
  --set "train.epochs=$linear_epochs" "${data[@]}"
echo "demo: conv1d, $conv1d_clips of the 2,000 clips, $conv1d_epochs epochs" >&2
$lockstep train recipes/conv1d.toml --out "$runs/conv1d" \
  --set "train.epochs=$conv1d_epochs" --set "data.samples=$conv1d_clips" \
  "${data[@]}"

echo
$lockstep report "$runs/linear" "$runs/conv1d"
echo
echo "demo: done in $((SECONDS - begin)) s. Run folders:"
echo "  $root/$runs/linear"
echo "  $root/$runs/conv1d   ($conv1d_clips clips)"
