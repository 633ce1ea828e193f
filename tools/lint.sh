#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lint.sh: format, spelling, shell scripts, budgets, clang-tidy. All of them
# run; the end says which complained.
set -uo pipefail
source "$(dirname "$0")/env.sh"
cd "$root" || exit
bad=""
check() {
  local name=$1
  shift
  if "$@"; then echo "lint: $name ok"; else bad="$bad $name"; fi
}

format() { git ls-files '*.h' '*.cpp' '*.cu' '*.cuh' | xargs clang-format-14 --dry-run -Werror; }
# spelling.txt: names of ours, and mistakes that tests make on purpose.
spelling() { git ls-files | grep -v -E '^(LICENSE|data|results)' | xargs codespell --ignore-words tools/spelling.txt; }
scripts() { git ls-files '*.sh' .ci/run | xargs shellcheck -x -P SCRIPTDIR; }

check format format
check spelling spelling
check scripts scripts
check budgets python3 tools/budgets.py
# clang-tidy reads files one by one, so in a build that compiles them so.
tidy() { cmake --preset lint > /dev/null && python3 tools/tidy.py build-lint; }
check tidy tidy
[ -z "$bad" ] || fail "complaints from:$bad"
