#!/usr/bin/env bash
# What a newcomer does: clone into an empty folder, with an empty environment, and type the README's two commands.
# Takes the repository to clone (this one by default); the commit that is checked out there is what gets tested.
set -euo pipefail
repository=$(cd "${1:-$(dirname "${BASH_SOURCE[0]}")/../..}" && pwd)
folder=$(mktemp -d /tmp/pafer-newcomer-XXXXXX)
trap 'rm -rf "$folder"' EXIT

newcomer() { env -i HOME="$folder/home" PATH="$PATH" PAFER_DATA="${PAFER_DATA:-}" "$@" </dev/null; }

mkdir "$folder/home"
git clone --quiet "$repository" "$folder/pafer"
cd "$folder/pafer"
mapfile -t commands < <(sed -n '/^## Two commands$/,/^You need/p' README.md | grep '^\./run ')
[ ${#commands[@]} = 2 ] || { echo "newcomer: the README does not name two commands" >&2 && exit 1; }
for command in "${commands[@]}"; do
  echo "newcomer: $command"
  start=$SECONDS
  newcomer bash -c "$command"
  echo "newcomer: $command took $((SECONDS - start)) s"
done
[ -z "$(git status --porcelain)" ] || { echo "newcomer: the commands left files that git does not ignore" >&2 && exit 1; }
