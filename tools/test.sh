#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test.sh PRESET: the tests of a built preset; of a sanitizer's, those labelled
# for it (cmake/LockstepTests.cmake holds the list).
set -euo pipefail
source "$(dirname "$0")/env.sh"
cd "$root"
supp=$root/tests/suppressions
export ASAN_OPTIONS="detect_leaks=1:abort_on_error=0:strict_string_checks=1"
export LSAN_OPTIONS="suppressions=$supp/lsan.txt:print_suppressions=0"
export UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1"
# LibTorch ends its autocast cache's lock by a tail call, which looks like ours:
# no reports of unlocking; races and deadlocks are reported.
export TSAN_OPTIONS="suppressions=$supp/tsan.txt:halt_on_error=1:second_deadlock_stack=1:report_mutex_bugs=0"
case $1 in
  release) ctest --test-dir build --output-on-failure --no-tests=error -j "$(nproc)" --timeout 600 ;;
  study) ctest --test-dir build-study --output-on-failure --no-tests=error -j "$(nproc)" --timeout 600 ;;
  tsan)
    # Races are those of the small models; the large ones have only numbers to show.
    export GTEST_FILTER='-*WholeBatch*_linear_*:*WholeBatch*_conv1d_*:*WholeBatch*_resnet18_*:*WholeBatch*_mobilenet_v2_*:*WholeBatch*_vit_tiny_*'
    ;;&
  *) ctest --test-dir "build-$1" --output-on-failure --no-tests=error -j "$(nproc)" --timeout 1200 -L sanitized ;;
esac
