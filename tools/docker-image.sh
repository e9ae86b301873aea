#!/bin/sh
# Makes the small Debian image that the Docker tests run in, as a tar file for `docker import`: docker-image.sh OUT.tar
# A debootstrap tree with a shell and Python; where no Debian mirror answers, the same programs of this machine.
set -eu
out=$1
[ "$(id -u)" = 0 ] || { echo "docker-image.sh needs root: debootstrap makes files that belong to root" >&2; exit 1; }
mkdir -p "$(dirname "$out")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
root=$work/root

from_this_machine() {
  rm -rf "$root"
  mkdir -p "$root/tmp" "$root/etc" "$root/proc" "$root/dev" "$root/sys" "$root/usr/bin" "$root/bin"
  chmod 1777 "$root/tmp"
  printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n' >"$root/etc/passwd"
  printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"
  for name in sh basename cat chmod cp cut date dd dirname env expr false find grep head id kill ln ls mkdir mkfifo mv \
    nohup pwd readlink rm rmdir sed setsid sleep sort stat tail tar test touch tr true truncate uname wc whoami xargs; do
    program=$(readlink -f "$(PATH=/usr/bin:/bin command -v "$name" 2>/dev/null)" 2>/dev/null) || continue
    [ -f "$program" ] || program=/usr/bin/$name
    [ -f "$program" ] || continue
    cp -L "$program" "$root/usr/bin/$name"
    ln -sf "../usr/bin/$name" "$root/bin/$name"
  done
  cp -L /usr/bin/python3 "$root/usr/bin/python3"
  library=$(/usr/bin/python3 -c 'import os; print(os.path.dirname(os.__file__))')
  tar -C / -cf - --exclude=test --exclude=dist-packages "${library#/}" | tar -C "$root" -xf -
  for file in "$root"/usr/bin/* "$root$library"/lib-dynload/*; do ldd "$file" 2>/dev/null || :; done |
    grep -o '/[^ )]*' | sort -u | while read -r file; do [ ! -f "$file" ] || echo "${file#/}"; done >"$work/libraries"
  tar -C / -chf - -T "$work/libraries" | tar -C "$root" -xf -
}

if ! { command -v debootstrap && command -v timeout; } >/dev/null ||
  ! DPKG_FORCE=unsafe-io timeout 900 debootstrap --variant=minbase --include=python3-minimal "${STEELYARD_TEST_SUITE:-bookworm}" "$root" \
    >"$work/log" 2>&1; then
  tail -n 3 "$work/log" >&2 2>/dev/null || :
  echo "no Debian tree could be made; taking this machine's own programs" >&2
  from_this_machine
fi
rm -rf "$root/var/cache" "$root/var/lib/apt" "$root/usr/share/locale" "$root/usr/share/doc" "$root/usr/share/man"
tar -C "$root" --numeric-owner -cf "$out.$$" .
mv "$out.$$" "$out"
