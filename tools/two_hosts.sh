#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# two_hosts.sh RATE COMMAND...: mpirun of COMMAND on two hosts, one rank each,
# joined by a link of RATE (as tc writes it: 1gbit, 200mbit). The hosts are
# network namespaces of this machine with addresses of their own: real TCP, no
# root needed.
set -euo pipefail
script=$(realpath "$0")

# Called by mpirun in place of ssh: runs a command on one of the hosts.
if [ "${1:-}" = --on ]; then
  host=$2
  shift 2
  exec nsenter --target "$(cat "$LOCKSTEP_HOSTS/$host.pid")" --net --uts -- /bin/sh -c "$*"
fi

# Called in the new namespaces: makes the second host, the link, and runs.
if [ "${1:-}" = --inside ]; then
  rate=$2
  shift 2
  hostname hosta
  ip link set lo up
  unshare --net --uts sh -c 'hostname hostb; ip link set lo up; exec sleep 3600' &
  second=$!
  trap 'kill $second 2>/dev/null' EXIT
  echo $$ > "$LOCKSTEP_HOSTS/hosta.pid"
  echo $second > "$LOCKSTEP_HOSTS/hostb.pid"
  on_b=(nsenter --target "$second" --net)
  # It is up when it lives in a namespace other than ours.
  until [ "$(readlink /proc/$second/ns/net)" != "$(readlink /proc/$$/ns/net)" ]; do sleep 0.05; done
  ip link add va type veth peer name vb
  ip link set vb netns "$second"
  ip address add 192.0.2.1/24 dev va
  ip link set va up
  "${on_b[@]}" ip address add 192.0.2.2/24 dev vb
  "${on_b[@]}" ip link set vb up
  tc qdisc add dev va root tbf rate "$rate" burst 256kb latency 50ms
  "${on_b[@]}" tc qdisc add dev vb root tbf rate "$rate" burst 256kb latency 50ms
  printf '127.0.0.1 localhost\n192.0.2.1 hosta\n192.0.2.2 hostb\n' > "$LOCKSTEP_HOSTS/hosts"
  mount --bind "$LOCKSTEP_HOSTS/hosts" /etc/hosts
  mpirun --host hosta:1,hostb:1 -n 2 --bind-to none --mca plm_rsh_agent "$script --on" \
    --mca btl tcp,self --mca btl_tcp_if_include 192.0.2.0/24 --mca oob_tcp_if_include 192.0.2.0/24 "$@"
  exit
fi

[ $# -ge 2 ] || { echo "usage: two_hosts.sh RATE COMMAND..." >&2; exit 2; }
for tool in unshare nsenter ip tc mpirun; do
  command -v "$tool" >/dev/null || { echo "two_hosts.sh: $tool is missing: install util-linux, iproute2 and openmpi-bin" >&2; exit 1; }
done
LOCKSTEP_HOSTS=$(mktemp -d)
export LOCKSTEP_HOSTS OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
trap 'rm -rf "$LOCKSTEP_HOSTS"' EXIT
unshare --user --map-root-user --net --uts --mount "$script" --inside "$@"
