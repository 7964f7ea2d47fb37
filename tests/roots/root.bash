# SPDX-License-Identifier: GPL-2.0-or-later
# Minimal roots of Debian, and what a document says, run in one.  For tests that print TAP.
build=${TAUT_BUILDDIR:-.}
top=$(cd "${TAUT_SRCDIR:-.}" && pwd)
cd "$build" || exit 1
[ "$(id -u)" -eq 0 ] || { echo "1..0 # skip not root"; exit 0; }
command -v mmdebstrap >/dev/null || { echo "1..0 # skip no mmdebstrap"; exit 0; }
mmdebstrap --simulate --variant=minbase bookworm /dev/null >/dev/null 2>&1 ||
    { echo "1..0 # skip no mirror of Debian answers"; exit 0; }
tmp=$(mktemp -d) || exit 1
trap 'rm -rf --one-file-system "$tmp"' EXIT
n=0
status=0
is() { # is WHAT COMMAND…
    local what=$1
    shift
    n=$((n + 1))
    if ("$@") >"$tmp/out" 2>&1 </dev/null; then
        echo "ok $n - $what"
    else
        echo "not ok $n - $what"
        tail -n 30 "$tmp/out" | sed 's/^/# /'
        status=1
    fi
}

# A block of commands in a document: the first one after a line that has some words.
commands() { # commands FILE WORDS
    awk -v words="$2" 'index($0, words) { found = 1 }
        found && /^```/ { if (inside) exit; inside = 1; next }
        inside' "$top/$1"
}

# root SUITE RECOMMENDS: a minimal one at $at, that says yes by itself
root() {
    at=$tmp/$1-$2
    [ -d "$tmp/$1" ] || mmdebstrap --variant=minbase "$1" "$tmp/$1" || return
    cp -a "$tmp/$1" "$at" && printf '#!/bin/sh\nexit 101\n' >"$at/usr/sbin/policy-rc.d" &&
        chmod 755 "$at/usr/sbin/policy-rc.d" &&
        printf 'APT::Get::Assume-Yes "true";\nAPT::Install-Recommends "%s";\n' "$2" \
            >"$at/etc/apt/apt.conf.d/99tests" && cp /etc/resolv.conf "$at/etc/resolv.conf" &&
        within apt-get update
}

# The root is that of a mount namespace, not of a mere chroot: who enters the namespace, as the
# lab does, is in it.
within() {
    unshare --mount --propagation private --pid --fork --kill-child sh -c '
        mount --bind "$0" "$0" && cd "$0" && mount -t proc proc proc &&
        mount --rbind /sys sys && mount --rbind /dev dev && mount -t tmpfs -o mode=755 none run &&
        mount -t tmpfs -o mode=1777 none tmp && mkdir -p .host && pivot_root . .host && cd / &&
        umount -l .host && rmdir .host && exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \
        LC_ALL=C HOME=/root DEBIAN_FRONTEND=noninteractive "$@"' "$at" "$@"
}
