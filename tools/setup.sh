#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# setup.sh GROUP...: what a build needs and this machine lacks: packages of
# tools/packages.txt, then .venv. Asks for root only when a package is missing;
# does nothing, in well under a second, when all is there.
# LOCKSTEP_TORCH=<folder torch>: that LibTorch, and nothing from the Python index.
# LOCKSTEP_PACKAGES=no: packages are your own affair.
set -euo pipefail
given_torch=${LOCKSTEP_TORCH:-}
source "$(dirname "$0")/env.sh"
groups=${*:-study train}

# The names of our groups for this distribution, one a line.
wanted_packages() {
  local distribution=$1 group name
  for group in $groups; do
    sed -n "s/^$group: //p" "$root/tools/packages.txt" | tr ' ' '\n'
  done | while read -r name; do
    case $name in
      *@"$distribution") echo "${name%@*}" ;;
      *@*) ;;
      *) echo "$name" ;;
    esac
  done
}

# Names that something else provides count as there.
missing_packages() {
  comm -23 <(wanted_packages "$1" | sort -u) \
    <(dpkg-query -W -f '${db:Status-Abbrev}|${Package}, ${Provides}\n' \
      | sed -n 's/^ii[^|]*|//p' | tr ',' '\n' | sed 's/ *(.*//; s/^ *//' | sort -u)
}

# Runs a command as root: as we are, or through sudo.
as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

need_root() {
  [ "$(id -u)" = 0 ] && return
  if command -v sudo > /dev/null && { [ -t 0 ] || sudo -n true 2> /dev/null; }; then
    echo "set-up: root is asked for, to install: $*" >&2
    return
  fi
  fail "root is needed once, to install packages. Run: apt-get install -y $*"
}

need_disk() {
  local folder=$1 megabytes=$2 free
  free=$(df -Pm "$folder" | awk 'NR == 2 {print $4}')
  [ "$free" -ge "$megabytes" ] \
    || fail "$folder has $free MB free, $megabytes are needed. Free some and run make again"
}

install_packages() {
  [ "${LOCKSTEP_PACKAGES:-}" = no ] && return
  local distribution=debian
  if ! command -v apt-get > /dev/null || ! command -v dpkg-query > /dev/null; then
    fail "this is neither Debian nor Ubuntu: install what tools/packages.txt names, then run make with LOCKSTEP_PACKAGES=no"
  fi
  if grep -qi '^ID.*ubuntu' /etc/os-release; then distribution=ubuntu; fi
  local missing
  missing=$(missing_packages "$distribution" | tr '\n' ' ')
  missing=${missing% }
  [ -z "$missing" ] && return
  # shellcheck disable=SC2086  # words, on purpose
  need_root $missing
  need_disk /var 1500
  echo "set-up: installing $missing" >&2
  local log
  log=$(mktemp)
  # shellcheck disable=SC2086
  if ! { as_root apt-get update -q && as_root env DEBIAN_FRONTEND=noninteractive \
      apt-get install -y -q --no-install-recommends $missing; } > "$log" 2>&1; then
    fail "packages could not be installed ($(grep -m1 -E '^(E|Err):' "$log" || tail -n1 "$log")). No network? Then: apt-get install -y $missing. Log: $log"
  fi
  rm -f "$log"
}

# A LibTorch that is there: nothing is downloaded, so the tools must be there.
check_given() {
  [ -e "$given_torch/lib/libtorch_cpu.so" ] \
    || fail "LOCKSTEP_TORCH=$given_torch holds no lib/libtorch_cpu.so: give the folder named torch"
  check_tools "with LOCKSTEP_TORCH set nothing is downloaded"
}

check_tools() {
  local tool
  for tool in cmake ninja; do
    command -v $tool > /dev/null \
      || fail "$tool is missing and $1. Run: apt-get install -y cmake ninja-build"
  done
}

# pip install of one requirements file into an environment, unless it was done
# with this very file.
install_python() {
  local name=$1 environment=$2 megabytes=$3
  shift 3
  local file=$root/tools/requirements-$name.txt sum stamp=$root/$environment/.installed-$name
  sum=$(sha256sum < "$file")
  [ "$(cat "$stamp" 2> /dev/null)" = "$sum" ] && return
  need_disk "$root" "$megabytes"
  make_environment "$environment"
  echo "set-up: installing Python packages of tools/$(basename "$file") into $environment" >&2
  local log
  log=$(mktemp)
  if ! "$root/$environment/bin/python" -m pip install -q "$@" -r "$file" > "$log" 2>&1; then
    fail "Python packages could not be installed ($(grep -m1 '^ERROR' "$log" || tail -n1 "$log")). No network? A LibTorch that is there: LOCKSTEP_TORCH=<folder torch>. Log: $log"
  fi
  rm -f "$log"
  echo "$sum" > "$stamp"
}

make_environment() {
  [ -x "$root/$1/bin/python" ] && return
  command -v python3 > /dev/null || fail "python3 is missing. Run: apt-get install -y python3-venv"
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' \
    || fail "$(python3 --version) is too old: 3.10 or later is needed"
  python3 -c 'import ensurepip, venv' 2> /dev/null \
    || fail "this python3 cannot make environments. Run: apt-get install -y python3-venv"
  python3 -m venv "$root/$1"
}

install_packages
case " $groups " in *' bench '*) install_python bench .venv-bench 9000 ;; esac
case " $groups " in
  *' train '*)
    if [ -n "$given_torch" ]; then check_given; exit; fi
    install_python tools .venv 4000 --no-deps
    install_python torch .venv 4000 --no-deps ;;
  *' study '*)
    # The study half needs no LibTorch; CMake and Ninja that are there will do.
    if [ -n "$given_torch" ]; then check_tools "with LOCKSTEP_TORCH set nothing is downloaded"; exit; fi
    install_python tools .venv 500 --no-deps ;;
esac
