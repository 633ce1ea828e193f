#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# demo.sh: trains the two audio models on spoken digits for a few epochs, then
# runs the short Stevens study: does another device help, and at which batch?
# Ends with the answer for each model, measured and as advised, and the path of
# its report.
set -euo pipefail
source "$(dirname "$0")/env.sh"
cd "$root"
lockstep=build/bin/lockstep
runs=runs/demo-$(date -u +%Y%m%d-%H%M%S)
linear_epochs=${DEMO_LINEAR_EPOCHS:-20}
conv1d_epochs=${DEMO_CONV1D_EPOCHS:-10}
study=${DEMO_STUDY:-recipes/study_stevens_short.toml}
begin=$SECONDS
mkdir -p "$runs"

# Real clips where they are or can be fetched, else made-up ones, and said so.
if ! $lockstep data check digits > /dev/null 2>&1; then
  if ! $lockstep data fetch digits; then
    echo "demo: no spoken digits here and none to be fetched: these are MADE-UP clips" >&2
    $lockstep data make digits "$runs/data/fsdd"
    export LOCKSTEP_DATA=$root/$runs/data
  fi
fi

echo "demo: linear, $linear_epochs epochs; conv1d, $conv1d_epochs epochs" >&2
$lockstep train recipes/linear.toml --out "$runs/linear" --set "train.epochs=$linear_epochs"
$lockstep train recipes/conv1d.toml --out "$runs/conv1d" --set "train.epochs=$conv1d_epochs"

echo "demo: does another device help? $study" >&2
$lockstep sweep "$study" --out "$runs/study" --predict-missing
$lockstep report "$runs/study" --html "$runs/report.html" > "$runs/report.txt"

# The same question answered without training on two: from a few steps of each
# model and this machine's link.
ranks=$(($(nproc) < 2 ? 1 : 2))
$lockstep probe --ranks $ranks --threads 1 --out "$runs/machine.json" > "$runs/machine.txt"
for model in linear conv1d; do
  $lockstep profile "recipes/$model.toml" --ranks $ranks --set train.threads=1 --batches 5,10 \
    --out "$runs/$model.profile.json" > /dev/null
  $lockstep advise "$runs/$model.profile.json" --hardware "$runs/machine.json" --batch 10 --samples 2000 \
    > "$runs/$model.advice.txt"
done

# The answers stand first in both; the tables are in the files.
echo
echo "Measured:"
awk '/^- (Note|Machine):/ {exit} {print}' "$runs/report.txt"
echo "Predicted, for the seed's batch of 10:"
for model in linear conv1d; do awk '/^what / {exit} {print}' "$runs/$model.advice.txt"; done
echo "demo: done in $((SECONDS - begin)) s."
echo "  runs    $root/$runs/linear, $root/$runs/conv1d"
echo "  study   $root/$runs/study"
echo "  advice  $root/$runs/linear.advice.txt, $root/$runs/conv1d.advice.txt"
echo "  report  $root/$runs/report.html   (as text: $root/$runs/report.txt)"
