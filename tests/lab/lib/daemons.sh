# SPDX-License-Identifier: GPL-2.0-or-later
# Daemons of the lab: start, stop, hang, and read their logs.

# Complains about an unknown daemon.
check_daemon() {
    case $1 in
    syslog) return ;;
    munged) [ "$WITH_SLURM$ALPS" != no ] && return ;;
    slurmctld) [ "$WITH_SLURM" = yes ] && return ;;
    mariadbd | slurmdbd) [ -n "$ACCOUNTING" ] && return ;;
    slurmd@ctl) [ "$WITH_SLURM$ALPS" = yesyes ] && return ;;
    tautd) [ -n "$TAUT_PREFIX" ] && return ;;
    slurmctld@* | tautd@*) is_controller "${1#*@}" && return ;;
    slurmd@*)
        node_number "${1#slurmd@}" >/dev/null || exit
        [ "$WITH_SLURM" = yes ] && return
        ;;
    esac
    die "no daemon '$1' in this lab"
}

daemon_start() {
    ! pid_of "$1" >/dev/null || die "$1 is running already"
    case $1 in
    syslog) spawn "$1" "$(lab_program labsyslog)" /dev/log /var/log/syslog ;;
    munged)
        as_user "$1" munge munged --foreground --num-threads=10
        wait_for 10 munge_answers
        ;;
    slurmctld)
        as_user "$1" "$(daemon_user)" slurmctld -D
        wait_for 20 controller_answers
        ;;
    mariadbd)
        spawn "$1" bash -c "$(declare -p accounting_folder); $(declare -f run_mariadbd); run_mariadbd"
        wait_for 20 database_answers
        ;;
    slurmdbd)
        as_user "$1" slurm slurmdbd -D
        wait_for 30 accounting_answers
        ;;
    tautd)
        as_user "$1" "$(daemon_user)" "$TAUT_PREFIX/sbin/tautd" -c /etc/taut/taut.lua
        wait_for 10 tautd_listens
        ;;
    slurmctld@* | tautd@*) start_on "${1#*@}" "${1%@*}" ;;
    slurmd@ctl) spawn "$1" slurmd -D ;;
    slurmd@*)
        local node=${1#slurmd@} as=()
        ! is_dynamic "$node" || as=(-Z --conf "$(node_make)")
        spawn "$1" nsenter -t "$(<"$LAB_RUN/pid/node@$node")" -n -u -m -- \
            slurmd -D -N "$node" "${as[@]}"
        return
        ;;
    esac || {
        echo "$1 does not answer; its output:"
        cmd_log "$1" --stderr | tail -n 20
        return 1
    }
}

as_user() {
    local name=$1 user=$2
    shift 2
    spawn "$name" setpriv --reuid "$user" --regid "$user" --init-groups -- "$@"
}

munge_answers() { munge -n >/dev/null 2>&1; }
controller_answers() { scontrol ping 2>/dev/null | grep -qE 'is UP|are UP'; }
# Ready when it takes connections; its port is in the protocol document.
tautd_listens() {
    pid_of tautd >/dev/null || return
    ss -Hltn "sport = :${LAB_TAUTD_PORT:-6824}" | grep -q .
}

daemon_stop() {
    local pid
    pid=$(pid_of "$1") || return 0
    # A stopped process takes its signal when it goes on.
    kill -TERM "$pid"
    kill -CONT "$pid"
    wait_for 10 daemon_gone "$1" || kill -KILL "$pid"
    wait_for 5 daemon_gone "$1"
}

daemon_gone() { ! pid_of "$1" >/dev/null; }

daemon_state() {
    local pid state
    pid=$(pid_of "$1") || { echo stopped; return; }
    read -r _ _ state _ <"/proc/$pid/stat"
    if [ "$state" = T ]; then echo "paused $pid"; else echo "running $pid"; fi
}

cmd_daemon() {
    local pid
    [ $# -eq 2 ] || die "usage: lab daemon stop|start|restart|pause|resume|status NAME"
    check_daemon "$2"
    case $1 in
    start) daemon_start "$2" ;;
    stop) daemon_stop "$2" ;;
    restart) daemon_stop "$2" && daemon_start "$2" ;;
    pause | resume)
        pid=$(pid_of "$2") || die "$2 is not running"
        if [ "$1" = pause ]; then kill -STOP "$pid"; else kill -CONT "$pid"; fi
        ;;
    status) echo "$2 $(daemon_state "$2")" ;;
    *) die "daemon $1: expected stop, start, restart, pause, resume or status" ;;
    esac
}

# The daemon's own log if it has one; with --stderr what it wrote to its
# standard output and error.
cmd_log() {
    local file=''
    [ $# -ge 1 ] || die "usage: lab log NAME [--stderr]"
    check_daemon "$1"
    [ "${2:-}" = --stderr ] || case $1 in
    syslog) file=/var/log/syslog ;;
    munged) file=/var/log/munge/munged.log ;;
    slurmctld | slurmdbd) file=/var/log/slurm/$1.log ;;
    slurmd@*) file=/var/log/slurm/slurmd.${1#slurmd@}.log ;;
    esac
    [ -n "$file" ] && [ -s "$file" ] || file=/var/log/lab/$1.out
    cat "$file"
}

cmd_exec() {
    local user=root node='' home
    while [ $# -gt 0 ]; do
        case $1 in
        --user) need_value "$@"; user=$2 ;;
        --node) need_value "$@"; node=$2; is_controller "$2" || node_number "$2" >/dev/null || exit ;;
        --) shift; break ;;
        -*) die "unknown option $1" ;;
        *) break ;;
        esac
        shift 2
    done
    [ $# -gt 0 ] || die "usage: lab exec [--user NAME] [--node NODE] CMD..."
    home=$(getent passwd "$user" | cut -d: -f6)
    [ -n "$home" ] || die "exec: no user '$user' in the lab"
    # Root stays where it is; another user may not be allowed there.
    local command=(env -u SLURM_CONF -C "$home")
    [ "$user" != root ] || command=(env -u SLURM_CONF -C "${LAB_CWD:-/}")
    command+=(PATH="$LAB_PATH" HOME="$home" USER="$user" LOGNAME="$user")
    [ "$user" = root ] ||
        command+=(setpriv --reuid "$user" --regid "$user" --init-groups --)
    [ -z "$node" ] || command=(nsenter -t "$(<"$LAB_RUN/pid/node@$node")" \
        -n -u -m -- "${command[@]}")
    exec "${command[@]}" "$@"
}

cmd_status() {
    local file name slurmds=0
    echo "lab $LAB_NAME: $FABRIC, $NODES nodes," \
        "tx $(mbit "$TX_BPS"), rx $(mbit "$RX_BPS"), links $(mbit "$LINK_BPS") Mbit/s"
    for file in "$LAB_RUN"/faults/*; do echo "fault  $(<"$file")"; done
    for file in "$LAB_RUN"/pid/load@*; do
        pid_of "${file##*/}" >/dev/null && echo "load   ${file##*/load@}: $(load_words "${file##*/}")"
    done
    for file in "$LAB_RUN"/pid/*; do
        name=${file##*/}
        case $name in
        load@* | node@* | sink@*) ;;
        slurmd@*)
            [[ $(daemon_state "$name") = running* ]] && slurmds=$((slurmds + 1)) ||
                echo "daemon $name $(daemon_state "$name")"
            ;;
        *) echo "daemon $name $(daemon_state "$name")" ;;
        esac
    done
    [ $slurmds -eq 0 ] || echo "daemon slurmd running on $slurmds nodes"
    [ "$WITH_SLURM" = no ] ||
        timeout 5 sinfo -h -o 'nodes  %T %D %N' 2>/dev/null ||
        echo "nodes  unknown: slurmctld does not answer"
}

mbit() { awk -v b="$1" 'BEGIN { printf "%g", b / 1e6 }'; }

# The options a load was started with.
load_words() {
    tr '\0' ' ' <"/proc/$(pid_of "$1")/cmdline" | sed 's/.*--streams/streams/'
}
