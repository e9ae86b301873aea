#!/bin/sh
# Installs the real agent programs that the tests drive, at pinned versions, into the folder $1, with links in $1/bin.
# Quick when there is nothing to do. Without Node.js the programs from npm are left out: in CI that is a failure.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
mkdir -p "${1:?usage: install.sh TARGET}/bin"
target=$(cd "$1" && pwd)
uv=$root/.venv/bin/uv

# fresh NAME FILE...: true when what these files ask for was installed before, whole.
fresh() {
  name=$1; shift
  wanted=$(cat "$@" "$here/install.sh" | cksum)
  [ -f "$target/$name.done" ] && [ "$(cat "$target/$name.done")" = "$wanted" ]
}

# link NAME CANDIDATE...: the first program that is there, so that no launcher script stands between.
link() {
  name=$1; shift
  for candidate in "$@"; do
    if [ -x "$candidate" ]; then
      ln -sf "$candidate" "$target/bin/$name"
      return 0
    fi
  done
  echo "install.sh: $name was installed but its program is not where it should be (looked at: $*)" >&2
  exit 1
}

if ! fresh mini "$here/mini.lock"; then
  echo "installing mini-swe-agent"
  rm -rf "$target/mini" "$target/mini.done"
  "$uv" venv --quiet --python "$root/.venv/bin/python" "$target/mini"
  "$uv" pip install --quiet --python "$target/mini/bin/python" --require-hashes --compile-bytecode -r "$here/mini.lock"
  link mini "$target/mini/bin/mini"
  echo "$wanted" >"$target/mini.done"
fi

if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
  echo "Node.js is not installed: the tests that drive claude, codex and opencode are skipped (install Node.js 20 or newer)"
  [ "${CI:-}" != true ] || exit 1
  exit 0
fi

if ! fresh npm "$here/package.json" "$here/package-lock.json"; then
  echo "installing claude, codex and opencode"
  rm -rf "$target/npm" "$target/npm.done"
  mkdir "$target/npm"
  cp "$here/package.json" "$here/package-lock.json" "$target/npm/"
  # The programs are native binaries in packages of their own, so no install script has to run. Not `npm ci`: a
  # registry may lack the binaries of other platforms, which the lock can then not name.
  (cd "$target/npm" && npm install --ignore-scripts --no-audit --no-fund --loglevel=error --fetch-retries=5)
  modules=$target/npm/node_modules
  link claude "$modules"/@anthropic-ai/claude-code-*/claude "$modules/.bin/claude"
  link codex "$modules"/@openai/codex-*/vendor/*/bin/codex "$modules/.bin/codex"
  link opencode "$modules/opencode-linux-x64/bin/opencode" "$modules"/opencode-*/bin/opencode "$modules/.bin/opencode"
  echo "$wanted" >"$target/npm.done"
fi
