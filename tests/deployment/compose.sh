#!/usr/bin/env bash
# Builds the image and runs the composed audit for real: PostgreSQL, holder and auditor in containers; with the
# argument `spark` that of docker-compose.spark.yml, with a Spark master and two workers. Without it, an auditor of this
# machine then asks the two holders of docs/deployment/two-holders.yml.
#
# With a docker daemon at hand it is used, with the official images. As root on Debian, without one, a
# private daemon is started and base images are made from Debian's packages, so no registry is needed;
# afterwards nothing of it is left. Exit status 75: there is no way to run containers here.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

readonly UNAVAILABLE=75 STEP_S_MAX=600 PACKAGES="docker.io docker-compose mmdebstrap iptables iproute2"
work=$(mktemp -d /tmp/pafer-compose-XXXXXX)
java=
[ "${1:-}" != spark ] || java=,default-jre-headless
daemon=
forwarding=
compose=()
build=()

say() { echo "compose: $* (at $SECONDS s)"; }

give_up() {
  say "NOT RUN: $*"
  exit $UNAVAILABLE
}

finish() {
  local status=$?
  trap - EXIT
  [ -z "${compose[*]}" ] || timeout 120 "${compose[@]}" down -v --remove-orphans >"$work/down.log" 2>&1 || true
  [ -z "$daemon" ] || end_daemon
  umount --lazy "$work" 2>/dev/null || true
  rm -rf "$work"
  exit $status
}
trap finish EXIT
trap 'exit 130' INT TERM

# The daemon may leave mounts, a bridge and packet filter rules; each is put back as it was.
end_daemon() {
  kill "$daemon" 2>/dev/null || true
  for _ in $(seq 150); do
    kill -0 "$daemon" 2>/dev/null || break
    sleep 0.2
  done
  kill -KILL "$daemon" 2>/dev/null || true
  awk -v folder="$work" 'index($2, folder "/") == 1 {print $2}' /proc/mounts | sort -r | xargs -r umount --lazy || true
  [ -e "$work/docker0-was-there" ] || ip link delete docker0 2>/dev/null || true
  iptables-restore <"$work/iptables" || true
  echo "$forwarding" >/proc/sys/net/ipv4/ip_forward
}

have_programs() {
  local program
  for program in dockerd docker docker-compose mmdebstrap iptables-save ip; do
    command -v "$program" >/dev/null || return 1
  done
}

install_programs() {
  have_programs && return
  command -v apt-get >/dev/null || give_up "docker is not installed, and this is no Debian."
  say "installing $PACKAGES"
  timeout 300 bash -c "apt-get update -qq && apt-get install -qq --no-install-recommends $PACKAGES" \
    >"$work/apt.log" 2>&1 </dev/null || give_up "the packages could not be installed: $(tail -n 1 "$work/apt.log")"
  have_programs || give_up "the packages lack a program that is needed."
}

start_daemon() {
  export DEBIAN_FRONTEND=noninteractive DOCKER_HOST=unix://$work/docker.sock PATH=/usr/sbin:/usr/bin:$PATH
  [ "$(id -u)" = 0 ] || give_up "no docker daemon answers, and only root can start one."
  install_programs
  # In memory where there is enough: thousands of small files are slow to write and to delete on a busy disk.
  if awk '/^MemAvailable/ {exit !($2 > 8000000)}' /proc/meminfo; then
    mount -t tmpfs -o size=6g pafer-compose "$work"
    export TMPDIR=$work
  fi
  {
    printf '%s\n' '*nat' COMMIT '*filter' ':FORWARD ACCEPT' COMMIT # what a machine has that never used them
    iptables-save
  } >"$work/iptables" || give_up "the packet filter cannot be read here."
  forwarding=$(cat /proc/sys/net/ipv4/ip_forward)
  ! ip link show docker0 >/dev/null 2>&1 || touch "$work/docker0-was-there"
  # In a session of its own: whoever ends this script's process group must not end the daemon before the cleaning up.
  setsid dockerd --data-root "$work/data" --exec-root "$work/exec" --pidfile "$work/docker.pid" --host "$DOCKER_HOST" \
    >"$work/dockerd.log" 2>&1 </dev/null &
  daemon=$!
  for _ in $(seq 150); do
    ! docker info >/dev/null 2>&1 || return 0
    kill -0 $daemon 2>/dev/null || break
    sleep 0.2
  done
  give_up "the docker daemon does not start here: $(tail -n 1 "$work/dockerd.log")"
}

# image NAME PACKAGES: a minimal Debian with some packages, under the name of an official image
image() {
  timeout $STEP_S_MAX mmdebstrap --quiet --variant=minbase --include="$2" bookworm - </dev/null | docker import - "$1" >/dev/null
}

make_images() {
  say "making base images from Debian's packages"
  image python:3.11-slim "python3,python3-venv,python-is-python3,ca-certificates$java" &
  local python=$!
  image pafer-postgres-standin postgresql
  wait $python
  build=(--network=host --secret "id=ca,src=/etc/ssl/certs/ca-certificates.crt")
}

files=(-f "docker-compose${1:+.$1}.yml")
if command -v docker >/dev/null && timeout 10 docker info >/dev/null 2>&1; then
  say "using the docker daemon that is here"
else
  start_daemon
  make_images
  files+=(-f tests/deployment/compose.standin.yml)
fi
./run secrets
# Free ports of this machine, so that a holder of somebody else on 8080 does not end the audit after the build.
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
export HOLDER_PORT=${HOLDER_PORT:-$(free_port)} OFFICE_PORT=${OFFICE_PORT:-$(free_port)} EQUALITY_PORT=${EQUALITY_PORT:-$(free_port)}

answers() {
  python3 -c 'import sys, time, urllib.request as r
for _ in range(300):
    try: sys.exit(r.urlopen(sys.argv[1], timeout=5).status != 200)
    except OSError: time.sleep(.2)
sys.exit("The holder does not answer.")' "http://127.0.0.1:$1/readyz"
}

ask_two_holders() {
  local holder keys=()
  for holder in office equality; do
    keys+=("$("${compose[@]}" run --rm -T "$holder" holder init </dev/null | grep -o 'pafer_[A-Za-z0-9_-]*' | head -n 1)")
  done
  "${compose[@]}" up --no-build --detach </dev/null
  answers "$OFFICE_PORT" && answers "$EQUALITY_PORT" &&
    timeout $STEP_S_MAX .venv/bin/python tests/deployment/two_holders_audit.py "$work" \
      "http://127.0.0.1:$OFFICE_PORT" "${keys[0]}" "http://127.0.0.1:$EQUALITY_PORT" "${keys[1]}"
}

failed() {
  "${compose[@]}" logs --tail 30
  say "FAILED"
  exit 1
}

say "building the image"
DOCKER_BUILDKIT=1 timeout $STEP_S_MAX docker build --quiet "${build[@]}" -t pafer:0.2.0.dev0 . </dev/null >/dev/null
[ "${1:-}" != spark ] ||
  DOCKER_BUILDKIT=1 timeout $STEP_S_MAX docker build --quiet "${build[@]}" --target spark -t pafer-spark:0.2.0.dev0 . </dev/null >/dev/null

say "running the audit"
if docker compose version >/dev/null 2>&1; then compose=(docker compose); else compose=(docker-compose); fi
compose+=(-p pafer-compose-test "${files[@]}")
timeout $STEP_S_MAX "${compose[@]}" up --no-build --exit-code-from auditor </dev/null || failed
say "the auditor exited 0"
[ "${1:-}" != spark ] || exit 0

say "asking two holders, of the image without the auditor's side"
DOCKER_BUILDKIT=1 timeout $STEP_S_MAX docker build --quiet "${build[@]}" --target holder -t pafer-holder:0.2.0.dev0 . </dev/null >/dev/null
"${compose[@]}" down -v </dev/null >"$work/down.log" 2>&1
compose=("${compose[@]:0:${#compose[@]}-${#files[@]}}" -f docs/deployment/two-holders.yml --project-directory .)
ask_two_holders || failed
say "both holders answered, and the bundle verifies"
