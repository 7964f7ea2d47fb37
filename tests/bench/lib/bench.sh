# SPDX-License-Identifier: GPL-2.0-or-later
# Shared by the benchmarks.  Sourced; sets QUICK, SEED, TMP, and what scenes.sh
# gives.  A benchmark defines usage() and, where it takes more options,
# bench_option() (returns how many words it took, 0 for none).
set -u -o pipefail
BENCH_DIR=$(cd "$(dirname "$0")" && pwd)
SCENE_DIR=$(cd "$BENCH_DIR/../lab" && pwd)
: "${TAUT_PREFIX:?run ./quickstart bench $(basename "$0")}"
: "${TAUT_BUILDDIR:=$(dirname "$TAUT_PREFIX")}" # has what only benchmarks use
# shellcheck source=/dev/null
. "$SCENE_DIR/lib/scenes.sh"

QUICK=${BENCH_QUICK:-} SEED=${BENCH_SEED:-1} # inside a lab those of outside

die() {
    echo "$(basename "$0"): $*" >&2
    exit 1
}

# bench_needs PROGRAM [PACKAGE…]: where it is not there, the benchmark cannot run
# here, and ends with 77: it is not broken.
bench_needs() {
    PATH=$PATH:/usr/sbin:/sbin command -v "$1" >/dev/null && return
    echo "$(basename "$0"): there is no $1${2:+ (Debian: ${*:2})}" >&2
    exit 77
}

# Takes one of a benchmark's own options: returns how many words it took.
bench_option() { return 0; }

bench_options() {
    while [ $# -gt 0 ]; do
        case $1 in
        --quick) QUICK=yes ;;
        --seed)
            [[ ${2:-} =~ ^[0-9]+$ ]] || die "--seed wants a whole number"
            SEED=$2
            shift
            ;;
        -h | --help)
            usage
            exit 0
            ;;
        *)
            bench_option "$@"
            case $? in
            0) usage >&2; exit 2 ;;
            2) shift ;;
            esac
            ;;
        esac
        shift
    done
    [ "$(id -u)" -eq 0 ] || die "the lab needs root"
}

# On what it runs, as a table of results should say.
bench_machine() {
    echo "on       $(nproc) processors ($(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo |
        head -n 1)), Linux $(uname -r), load $(cut -d' ' -f1-3 /proc/loadavg)"
    echo "with     $("$TAUT_PREFIX/bin/taut" --version), Slurm $(slurmd -V |
        cut -d' ' -f2), $(date +%F)"
    echo "seed     $SEED${QUICK:+; QUICK: too few runs for a result}"
    echo
}

# bench_lab LAB OPTION…: a lab of the benchmark's own, gone when it ends
bench_lab() {
    export LAB_NAME=bench-$$
    trap 'lab down >/dev/null 2>&1; rm -rf "$TMP"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    lab up "$@" >"$TMP/up" 2>&1 || { cat "$TMP/up"; die "there is no lab"; }
}

# bench_inside ARG…: this benchmark's own part inside the lab, as root on the
# controller.  In the background, because only then a signal ends it at once.
bench_inside() {
    bench_kernel
    BENCH_QUICK=$QUICK BENCH_SEED=$SEED lab exec "$0" --inside "$@" &
    wait $!
}

# bench_kernel: what lib/kernel/units.lua measures this machine by; bench_lua does it, too.  Inside
# a lab it is that of outside.
bench_kernel() {
    export BENCH_KERNEL=${BENCH_KERNEL:-$TMP/kernel}
    [ -x "$BENCH_KERNEL" ] || cc -O2 -o "$BENCH_KERNEL" "$BENCH_DIR/lib/kernel/kernel.c" || die "cc failed"
}

# bench_lua FILE [ARG…]: with Taut's modules, and those beside the benchmarks
bench_lua() {
    local file=$1
    shift
    bench_kernel
    BENCH_SEED=$SEED BENCH_QUICK=$QUICK LUA_PATH="$BENCH_DIR/lib/?.lua;$TAUT_PREFIX/share/taut/lua/?.lua;;" \
        "$TAUT_PREFIX/bin/taut" --lua "$BENCH_DIR/lib/$file" "$@"
}

# bench_wait_tautd SOCKET PID LOG: until that tautd answers
bench_wait_tautd() {
    until "$TAUT_PREFIX/bin/taut" --socket "$1" status >/dev/null 2>&1; do
        kill -0 "$2" 2>/dev/null || die "tautd ended: $(tail -n 3 "$3")"
        sleep 0.2
    done
    sleep 1
}

# bench_figures [LEAST]: passes on what a benchmark prints; status 1 where a
# figure has no value, or where there are less than LEAST (1) figures.
bench_figures() {
    awk -v least="${1:-1}" '{ print; fflush() }
        $1 == "figure" { all++; none += $3 == "-" }
        END {
            short = none || all < least
            if (short) print all + 0 " figures, " none + 0 " without a value" >"/dev/stderr"
            exit short
        }'
}

# Microseconds since 1970.
now_us() { echo "${EPOCHREALTIME/[.,]/}"; }

# Inside a lab: as an ordinary user.
bench_alice() { setpriv --reuid alice --regid alice --init-groups -- "$@"; }

# Inside a lab: NAME MICROSECONDS KB of tautd and each of its helpers: the
# processor time it used so far, and what it holds in memory.
bench_tautd_cpu() {
    local pid
    pid=$(</run/lab/pid/tautd)
    for pid in $pid $(cat "/proc/$pid/task/$pid/children"); do
        echo "$(tr '\0' ' ' <"/proc/$pid/cmdline" | cut -c 1-200)" \
            "$(awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print ($12 + $13) * 1e6 / hz }' \
                "/proc/$pid/stat") $(awk '/^VmRSS/ { print $2 }' "/proc/$pid/status")"
    done | awk '{ n = split($1, path, "/"); name = path[n]
        if (match($0, / --(store|addresses|alps|fabric|ingest)/))
            name = substr($0, RSTART + 3, RLENGTH - 3)
        print name, $(NF - 1), $NF }'
}

TMP=$(mktemp -d)
