# SPDX-License-Identifier: GPL-2.0-or-later
# Shared by all parts of the lab.

# All state is in a tmpfs of the lab's own mount namespace.
LAB_RUN=/run/lab

die() {
    printf 'lab: %s\n' "$*" >&2
    exit 1
}

need_root() { [ "$EUID" -eq 0 ] || die "needs root"; }
need_value() { [ $# -ge 2 ] || die "$1 needs a value"; }
need_number() { [[ $2 =~ ^[0-9]+$ ]] || die "$1: '$2' is not a whole number"; }

check_name() {
    [[ $LAB_NAME =~ ^[A-Za-z0-9][A-Za-z0-9_.-]*$ ]] ||
        die "'$LAB_NAME' is not a valid name for a lab: letters, digits, . _ - only"
}

# Print the process id of the lab's init: process 1 of its namespace, called
# `taut-lab NAME`.  There is no other record of a running lab.
lab_init() {
    local file pid name label ids
    while read -r file; do
        pid=${file#/proc/} pid=${pid%/cmdline}
        IFS= read -r -d '' name 2>/dev/null <"$file" || continue
        [ "$name" = "taut-lab $LAB_NAME" ] || continue
        while read -r label ids; do
            # A child of init that has not called exec yet has its name.
            [ "$label" = NSpid: ] && [ "${ids##*[[:space:]]}" = 1 ] || continue
            [ "$pid" = "$$" ] || { echo "$pid"; return 0; }
        done 2>/dev/null <"/proc/$pid/status"
    done < <(grep -lzxF -e "taut-lab $LAB_NAME" /proc/[0-9]*/cmdline 2>/dev/null)
    return 1
}

load_conf() {
    # shellcheck source=/dev/null
    [ ! -f "$LAB_RUN/conf" ] || { . "$LAB_RUN/conf"; slurm_path; alps_environment; }
}

# A program of the lab's own: built by make beside this script or in
# LAB_BINDIR, else compiled while the lab comes up.
lab_program() {
    local dir
    for dir in "${LAB_BINDIR:-$LAB_DIR}" $LAB_RUN/bin; do
        [ -x "$dir/$1" ] && { echo "$dir/$1"; return; }
    done
    die "program $1 is missing: run make, or set LAB_BINDIR"
}

# in_net NAMESPACE CMD...: only the network of a router or node.
in_net() {
    local ns=$1
    shift
    nsenter --net="/run/netns/$ns" -- "$@"
}

# in_node NODE CMD...: network, mounts (own /run and /sys) and hostname.
in_node() {
    local node=$1
    shift
    nsenter -t "$(<"$LAB_RUN/pid/node@$node")" -n -u -m -- "$@"
}

close_descriptors() {
    local fd
    for fd in /proc/self/fd/*; do
        fd=${fd##*/}
        [ "$fd" -le 2 ] || eval "exec $fd>&-"
    done
}

# spawn NAME CMD...: start a daemon in a session of its own.  What it writes
# goes to /var/log/lab/NAME.out; its process id is kept for the others.
spawn() {
    local name=$1
    shift
    (
        close_descriptors
        exec </dev/null >>"/var/log/lab/$name.out" 2>&1
        exec setsid env -i PATH="$LAB_PATH" LC_ALL=C "${LAB_ENV[@]}" "$@"
    ) &
    echo $! >"$LAB_RUN/pid/$name"
}

pid_of() {
    local pid state
    read -r pid 2>/dev/null <"$LAB_RUN/pid/$1" || return 1
    read -r _ _ state _ 2>/dev/null <"/proc/$pid/stat" || return 1
    [ "$state" != Z ] && echo "$pid"
}

# wait_for SECONDS CMD...: until the command succeeds.
wait_for() {
    local left=$(($1 * 20))
    shift
    until "$@"; do
        left=$((left - 1))
        [ $left -gt 0 ] || return 1
        sleep 0.05
    done
}

# Bits per second of a rate such as 100mbit, 1.5gbit or 800kbit.
rate_bps() {
    local number unit
    [[ $1 =~ ^([0-9]+(\.[0-9]+)?)(|bit|kbit|mbit|gbit)$ ]] ||
        die "'$1' is no rate: expected a number with bit, kbit, mbit or gbit"
    number=${BASH_REMATCH[1]}
    case ${BASH_REMATCH[3]} in
    kbit) unit=1000 ;;
    mbit) unit=1000000 ;;
    gbit) unit=1000000000 ;;
    *) unit=1 ;;
    esac
    awk -v n="$number" -v u=$unit 'BEGIN { printf "%.0f", n * u }'
}
