# SPDX-License-Identifier: GPL-2.0-or-later
# Bringing a lab up and down.

declare_defaults() {
    ENGINE_PREFIX=${TAUT_PREFIX:-}
    FABRICS_FILE='' FABRICS_TEXT='' NODE_RAIL=() NODE_NET=()
    EXTRA_NODE=() EXTRA_ROUTER=() EXTRA_RAIL=() EXTRA_NET=() EXTRA_ADDRESS=() EXTRA_MAC=()
    TORUS='' TREE='' DRAGONFLY='' HYPERX='' KIND='' FABRIC='' DIMS=()
    LEAVES='' SPINES='' POD_LEAVES='' PODS=0 CABLES=1 GROUP_COUNT='' GROUP_ROUTERS=''
    ROUTING='' WITHOUT=()
    NODES_PER_ROUTER=2 NODE_CPUS=2 WITH_SLURM=yes DYNAMIC=0 BOND=0
    RATE=100mbit TX_RATE='' RX_RATE='' LINK_RATE=''
    CONTROLLERS=0 RDMA='' ACCOUNTING='' TAUT_PREFIX='' TAUT_CONF='' HEALTH_INTERVAL=5 HEALTH_STATES=IDLE
    SLURM_CONF_LINES=() JOB_SUBMIT='' SLURM_PREFIX='' ALPS='' LAB_ENV=()
}

parse_up() {
    while [ $# -gt 0 ]; do
        case $1 in
        --no-slurm) WITH_SLURM=no; shift; continue ;;
        --alps) ALPS=yes; shift; continue ;;
        --accounting) ACCOUNTING=yes; shift; continue ;;
        --static | --hash) ROUTING=${1#--}; shift; continue ;;
        --*) need_value "$@" ;;
        *) die "unexpected argument '$1'" ;;
        esac
        case $1 in
        --torus) TORUS=$2 ;;
        --tree) TREE=$2 ;;
        --pods) PODS=$2 ;;
        --cables) CABLES=$2 ;;
        --dragonfly) DRAGONFLY=$2 ;;
        --hyperx) HYPERX=$2 ;;
        --fabrics) FABRICS_FILE=$2 ;;
        --without) WITHOUT+=("$2") ;;
        --nodes-per-router) need_number "$1" "$2"; NODES_PER_ROUTER=$2 ;;
        --controllers) need_number "$1" "$2"; CONTROLLERS=$2 ;;
        --rdma) RDMA=$2 ;;
        --dynamic) need_number "$1" "$2"; DYNAMIC=$2 ;;
        --bond) need_number "$1" "$2"; BOND=$2 ;;
        --node-cpus) need_number "$1" "$2"; NODE_CPUS=$2 ;;
        --rate) RATE=$2 ;;
        --tx-rate) TX_RATE=$2 ;;
        --rx-rate) RX_RATE=$2 ;;
        --link-rate) LINK_RATE=$2 ;;
        --name) LAB_NAME=$2; check_name ;;
        --slurm) SLURM_PREFIX=$(readlink -f "$2") ;;
        --slurm-conf) SLURM_CONF_LINES+=("$2") ;;
        --job-submit) JOB_SUBMIT=$(readlink -f "$2") ;;
        --taut) TAUT_PREFIX=$(readlink -f "$2") ;;
        --taut-conf) TAUT_CONF=$(readlink -f "$2") ;;
        --health-interval) need_number "$1" "$2"; HEALTH_INTERVAL=$2 ;;
        --health-states) HEALTH_STATES=$2 ;;
        *) die "unknown option $1" ;;
        esac
        shift 2
    done
}

check_up() {
    local program
    parse_fabric
    [ -z "$ALPS" ] || check_alps
    [ "$CONTROLLERS" -eq 0 ] || [ "$WITH_SLURM$ALPS" = yes ] ||
        die "--controllers needs Slurm, and no ALPS"
    [ "$CONTROLLERS" -le 8 ] || die "--controllers $CONTROLLERS; at most 8"
    [ "$DYNAMIC" -eq 0 ] || [ "$WITH_SLURM$ALPS" = yes ] || die "--dynamic needs Slurm, and no ALPS"
    [ "$DYNAMIC" -lt "$NODES" ] || die "--dynamic $DYNAMIC; less than the $NODES nodes"
    [ "$BOND" -le "$NODES" ] || die "--bond $BOND; at most the $NODES nodes"
    [ "$BOND" -eq 0 ] || [ -z "$RDMA$ALPS" ] || die "--bond: neither --rdma nor --alps"
    [ "$NODE_CPUS" -ge 1 ] || die "--node-cpus $NODE_CPUS; at least 1"
    [ -z "$JOB_SUBMIT" ] || [ -r "$JOB_SUBMIT" ] || die "--job-submit $JOB_SUBMIT cannot be read"
    if [ -n "$TAUT_PREFIX" ]; then
        [ "$WITH_SLURM$ALPS" != no ] || die "--taut needs Slurm"
        [ -r "$TAUT_CONF" ] || die "--taut needs --taut-conf FILE, readable"
    fi
    [ -z "$SLURM_PREFIX" ] || [ -x "$SLURM_PREFIX/sbin/slurmctld" ] ||
        die "--slurm $SLURM_PREFIX has no sbin/slurmctld"
    [ -z "$RDMA" ] || check_rdma
    [ -z "$ACCOUNTING" ] || check_accounting
    for program in ip tc ss unshare nsenter setpriv; do need_program $program; done
    [ "$WITH_SLURM" = no ] || for program in slurmctld slurmd munged sinfo; do
        need_program $program
    done
}

# Devices of network namespaces: tests/vm has such a kernel.
check_rdma() {
    [[ $RDMA = rxe || $RDMA = siw ]] || die "--rdma $RDMA; rxe or siw"
    need_program rdma
    [ -e /dev/infiniband/rdma_cm ] || die "--rdma $RDMA: no /dev/infiniband/rdma_cm (tests/vm/run)"
    rdma system 2>/dev/null | grep -q 'netns exclusive' ||
        die "--rdma $RDMA: network namespaces share devices here (rdma system set netns exclusive)"
}

need_program() {
    PATH=$SLURM_PREFIX/sbin:$SLURM_PREFIX/bin:$PATH:/usr/sbin:/sbin command -v "$1" >/dev/null ||
        die "$1 is not installed"
}

read_rates() {
    TX_BPS=$(rate_bps "${TX_RATE:-$RATE}") || exit
    RX_BPS=$(rate_bps "${RX_RATE:-$RATE}") || exit
    LINK_BPS=$(rate_bps "${LINK_RATE:-$RATE}") || exit
}

# Everything the lab knows about itself, as bash reads it.
print_conf() {
    fabric_tables
    fabric_constants
    LAB_BINDIR=$(readlink -f "${LAB_BINDIR:-$LAB_DIR}")
    LAB_PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
    [ -z "$SLURM_PREFIX" ] || LAB_PATH=$SLURM_PREFIX/sbin:$SLURM_PREFIX/bin:$LAB_PATH
    [ -z "$TAUT_PREFIX" ] || LAB_PATH=$TAUT_PREFIX/bin:$TAUT_PREFIX/sbin:$LAB_PATH
    [ -z "$ALPS" ] || LAB_PATH=$LAB_ALPS/bin:$LAB_PATH
    declare -p LAB_NAME LAB_PATH KIND FABRIC DIMS ROUTERS NODES NODES_PER_ROUTER \
        LEAVES POD_LEAVES SPINES PODS CABLES ROUTING GROUP_COUNT GROUP_ROUTERS WITHOUT \
        ROUTER ROUTER_ADDRESS NODE_ROUTER NODE_ADDRESS NODE_MAC CONTROL_ADDRESS CONTROL_MAC \
        FABRICS_TEXT NODE_RAIL NODE_NET \
        EXTRA_NODE EXTRA_ROUTER EXTRA_RAIL EXTRA_NET EXTRA_ADDRESS EXTRA_MAC \
        LINK LINK_FROM LINK_TO LINK_BACK LINK_SPEED NODE_CPUS DYNAMIC BOND RDMA \
        TX_BPS RX_BPS LINK_BPS BURST_US GSO_SEGMENTS QUEUE_BYTES WINDOW_PACKETS \
        WITH_SLURM SLURM_PREFIX SLURM_CONF_LINES JOB_SUBMIT TAUT_PREFIX TAUT_CONF \
        HEALTH_INTERVAL HEALTH_STATES CONTROLLERS ACCOUNTING LAB_BINDIR ALPS LAB_ENV |
        # They are read inside a function, and some may be exported here.
        sed -E 's/^declare -a[a-z]*/declare -ga/; s/^declare -[-rx]+/declare -g/'
}

# How much one stream keeps under way, and what a port's queue holds, from
# the fastest rate; README.md says how these were found.
fabric_constants() {
    local bps=$TX_BPS
    [ "$RX_BPS" -le "$bps" ] || bps=$RX_BPS
    [ "$LINK_BPS" -le "$bps" ] || bps=$LINK_BPS
    GSO_SEGMENTS=${LAB_GSO_SEGMENTS:-4}
    BURST_US=${LAB_BURST_US:-4000}
    WINDOW_PACKETS=$((bps / 8 * ${LAB_WINDOW_US:-2000} / 1000000 / 1514))
    [ $WINDOW_PACKETS -ge 10 ] || WINDOW_PACKETS=10
    QUEUE_BYTES=$((bps / 8 * ${LAB_QUEUE_US:-16000} / 1000000))
    [ $QUEUE_BYTES -ge $((4 * WINDOW_PACKETS * 1514)) ] ||
        QUEUE_BYTES=$((4 * WINDOW_PACKETS * 1514))
}

# The process that holds all namespaces.  Its death, however it comes, ends
# every process inside, and with the last of them the namespaces go.
start_init() {
    (
        close_descriptors
        cd / && exec </dev/null >/dev/null 2>&1
        exec setsid unshare -fmnpui --mount-proc --propagation private \
            --kill-child bash -c 'exec -a "$0" bash "$1"' \
            "taut-lab $LAB_NAME" "$LAB_DIR/lib/init.sh"
    ) &
    INIT_PARENT=$!
    INIT=''
    for _ in {1..100}; do
        INIT=$(lab_init) && return
        kill -0 $INIT_PARENT 2>/dev/null || break
        sleep 0.02
    done
    die "cannot make namespaces (unshare failed; is this root with CAP_SYS_ADMIN?)"
}

kill_init() {
    kill -KILL "$1" 2>/dev/null
    wait_for 20 init_gone "$1" || die "process $1 does not end"
}

init_gone() { [ ! -d "/proc/$1" ]; }

# step TITLE NAME: run step_NAME inside; one line of output, or what failed.
step() {
    local started=$EPOCHREALTIME out
    if ! out=$(nsenter -t "$INIT" -m -u -i -n -p -- \
        "$LAB_DIR/lab" --inside step "$2" 2>&1); then
        printf '%-24s failed:\n%s\n' "$1" "$out" >&2
        exit 1
    fi
    awk -v t="$1" -v o="$out" -v a="$started" -v b="$EPOCHREALTIME" \
        'BEGIN { printf "%-24s %4.1f s  %s\n", t, b - a, o }'
}

run_step() {
    local name=$1
    shift
    "step_$name" "$@"
}

lab_up() {
    declare_defaults
    parse_up "$@"
    check_up
    ! lab_init >/dev/null || die "lab $LAB_NAME is up already"
    local conf routes=''
    read_rates
    conf=$(print_conf) || exit
    ! by_engine || routes=$(ask_engine routes) || exit
    start_init
    # From here on, whatever ends this script half-way ends the lab.
    trap 'kill_init $INIT; echo "lab: $LAB_NAME was not brought up; nothing is left" >&2' EXIT
    trap 'exit 130' INT TERM HUP
    step "file systems" mounts <<<"$conf"
    step "${FABRIC%%,*}" fabric <<<"$routes"
    [ "$WITH_SLURM$ALPS" = no ] || step "munge" munge
    step "node namespaces" nodes
    [ -z "$ALPS" ] || step "ALPS" alps
    [ "$CONTROLLERS" -eq 0 ] || step "controllers" controllers
    [ -z "$ACCOUNTING" ] || step "accounting" accounting
    [ "$WITH_SLURM" = no ] || step "slurmctld" slurmctld
    [ -z "$TAUT_PREFIX" ] || step "tautd" tautd
    if [ "$WITH_SLURM" = yes ]; then
        step "slurmd" slurmds
        step "nodes idle" idle
    fi
    trap - EXIT
    echo "lab $LAB_NAME is up"
}

lab_down() {
    local init
    [ $# -eq 0 ] || die "usage: lab down [--name NAME]"
    init=$(lab_init) || die "no lab named $LAB_NAME is up"
    kill_init "$init"
    echo "lab $LAB_NAME is down"
}
