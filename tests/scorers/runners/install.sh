#!/bin/sh
# Installs the JavaScript test runners that the tests drive, at pinned versions, into the folder $1.
# Quick when there is nothing to do. Without Node.js they are left out: in CI that is a failure.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:?usage: install.sh TARGET}"
target=$(cd "$1" && pwd)
wanted=$(cat "$here/package.json" "$here/package-lock.json" "$here/install.sh" | cksum)
if [ -f "$target/npm.done" ] && [ "$(cat "$target/npm.done")" = "$wanted" ]; then exit 0; fi

if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
  echo "Node.js is not installed: the tests that drive jest and vitest are skipped (install Node.js 20 or newer)"
  [ "${CI:-}" != true ] || exit 1
  exit 0
fi

echo "installing jest and vitest"
rm -rf "$target/npm" "$target/npm.done"
mkdir "$target/npm"
cp "$here/package.json" "$here/package-lock.json" "$target/npm/"
# Not `npm ci`: a registry may lack the binaries of other platforms, which the lock can then not name.
(cd "$target/npm" && npm install --ignore-scripts --no-audit --no-fund --loglevel=error --fetch-retries=5)
echo "$wanted" >"$target/npm.done"
