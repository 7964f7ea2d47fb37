# SPDX-License-Identifier: GPL-2.0-or-later
# Controllers on hosts of their own (--controllers N): each a namespace on the
# control network with its slurmctld and tautd; StateSaveLocation, /etc and the
# users are common, /run and /var/lib/taut are each one's own.  `ctl` is left
# with what all use: MUNGE, syslog, and a database if a test starts one.

controllers() {
    local i
    for ((i = 1; i <= CONTROLLERS; i++)); do echo "ctl$i"; done
}

controller_address() { echo "172.30.0.$((10 + ${1#ctl}))"; }
controller_mac() { printf '02:00:00:02:fe:%02x' "${1#ctl}"; }

is_controller() {
    [[ $1 =~ ^ctl([1-9][0-9]*)$ ]] && [ "${BASH_REMATCH[1]}" -le "$CONTROLLERS" ]
}

# ---- what `ip -batch' takes ----

controller_wiring() {
    local host
    for host in $(controllers); do
        echo "netns add $host"
        echo "link add name c_$host type veth peer name eth0 netns $host" \
            "address $(controller_mac "$host")"
        echo "link set c_$host master br0 up"
    done
}

controller_neighbours() {
    local host
    for host in $(controllers); do
        echo "neighbour add $(controller_address "$host") lladdr $(controller_mac "$host")" \
            "dev $1 nud permanent"
    done
}

controller_setup() {
    echo "link set lo up"
    echo "address add $(controller_address "$1")/16 dev eth0"
    echo "link set eth0 up"
    echo "$CONTROL_NEIGHBOURS"
}

controller_hosts() {
    local host
    for host in $(controllers); do echo "$(controller_address "$host") $host"; done
}

# Those of the network, before any node speaks.
set_up_controllers() {
    local host
    for host in $(controllers); do
        controller_setup "$host" >"$LAB_RUN/setup/$host.ip"
        : >"$LAB_RUN/setup/$host.tc"
        set_up "$host" node || return
    done
}

# ---- their namespaces ----

step_controllers() {
    local host
    for host in $(controllers); do
        spawn "node@$host" nsenter --net="/run/netns/$host" -- \
            unshare --mount --uts --propagation private \
            "$LAB_DIR/lab" --inside step controller_mounts "$host"
        wait_for 20 test -e "$LAB_RUN/run.$host/ready" ||
            { cat "/var/log/lab/node@$host.out"; return 1; }
    done
}

step_controller_mounts() {
    local own=$LAB_RUN/run.$1 state=$LAB_RUN/state.$1
    hostname "$1" && own_sys && mkdir -p "$own/munge" "$own/lock" "$own/slurmctld" "$own/taut" \
        "$state" /var/lib/taut || return
    chown slurm:slurm "$own/slurmctld" "$own/taut" "$state" || return
    mount --bind /run/munge "$own/munge" && mount --bind "$state" /var/lib/taut &&
        mount --rbind "$own" /run && : >/run/ready || return
    exec -a "lab-controller $1" sleep infinity
}

# in_controller HOST USER CMD...
in_controller() {
    local host=$1 user=$2
    shift 2
    nsenter -t "$(<"$LAB_RUN/pid/node@$host")" -n -u -m -- \
        setpriv --reuid "$user" --regid "$user" --init-groups -- "$@"
}

# start_on HOST DAEMON
start_on() {
    local enter=(nsenter -t "$(<"$LAB_RUN/pid/node@$1")" -n -u -m --
        setpriv --reuid slurm --regid slurm --init-groups --)
    case $2 in
    slurmctld) spawn "$2@$1" "${enter[@]}" slurmctld -D ;;
    tautd)
        spawn "$2@$1" "${enter[@]}" "$TAUT_PREFIX/sbin/tautd" -c /etc/taut/taut.lua
        wait_for 10 tautd_of "$1"
        ;;
    esac
}

tautd_of() {
    pid_of "tautd@$1" >/dev/null || return
    in_controller "$1" slurm ss -Hltn "sport = :${LAB_TAUTD_PORT:-6824}" | grep -q .
}

# all_of DAEMON: on each controller; slurmctld answers once one of them is active
start_on_all() {
    local host
    for host in $(controllers); do start_on "$host" "$1" || return; done
    [ "$1" != slurmctld ] || wait_for 20 controller_answers
}
