#!/bin/sh
# Runs a command with a Docker engine: with-docker.sh COMMAND [ARGUMENT…]
# Where one answers, that one. Else, as root and with dockerd installed, a private one in a temporary directory, with a
# small Debian image (STEELYARD_TEST_IMAGE), gone afterwards. Else the command runs without.
set -u
if ! command -v docker >/dev/null || docker version >/dev/null 2>&1; then exec "$@"; fi
if [ "$(id -u)" != 0 ] || ! command -v dockerd >/dev/null; then exec "$@"; fi
here=$(cd "$(dirname "$0")" && pwd)
image_file=$here/../.venv/docker/debian.tar
place=$(mktemp -d /tmp/steelyard-docker.XXXXXX)
engine=''

finish() {
  trap '' INT TERM
  if [ -n "$engine" ]; then
    docker ps -aq 2>/dev/null | xargs -r docker rm -fv >/dev/null 2>&1
    kill "$engine" 2>/dev/null
    wait "$engine" 2>/dev/null
  fi
  # What a killed engine left mounted has to go before its files.
  awk -v top="$place/" 'index($5, top) == 1 { print $5 }' /proc/self/mountinfo | sort -r | xargs -r -n 1 umount -l
  rm -rf "$place"
}
trap finish EXIT
# Signals are heeded once the command, which gets them too, has ended: it is no job in the background, for which the
# shell would switch Ctrl-C off.
trap 'exit 130' INT
trap 'exit 143' TERM

mountpoint -q /sys/fs/cgroup || mount -t cgroup2 none /sys/fs/cgroup 2>/dev/null
export DOCKER_HOST="unix://$place/docker.sock"

# The first set of options that works: a bridge needs a kernel module, overlay2 a file system that can carry it.
start() {
  setsid dockerd --data-root "$place/data" --exec-root "$place/exec" --pidfile "$place/pid" --host "$DOCKER_HOST" \
    --iptables=false --ip6tables=false "$@" >"$place/log" 2>&1 &
  engine=$!
  tries=0
  while [ $tries -lt 600 ]; do
    docker version >/dev/null 2>&1 && return 0
    kill -0 "$engine" 2>/dev/null || break
    tries=$((tries + 1))
    sleep 0.1
  done
  kill "$engine" 2>/dev/null
  wait "$engine" 2>/dev/null
  engine=''
  return 1
}

if start --bridge=none || start --bridge=none --storage-driver=vfs; then
  [ -s "$image_file" ] || "$here/docker-image.sh" "$image_file"
  if docker import "$image_file" steelyard-test:latest >/dev/null; then
    export STEELYARD_TEST_IMAGE=steelyard-test:latest
  fi
else
  echo "no Docker engine could be started:" >&2
  tail -n 5 "$place/log" >&2
fi
"$@"
exit $?
