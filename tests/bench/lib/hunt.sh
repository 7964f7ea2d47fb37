# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Faults one after another in a lab, found by the checks of ordinary jobs:
# what detection and campaign_lab share.  Sourced after bench.sh; who sources
# it sets HUNT_NAME (of the figures), HUNT_LAB (words for `lab up'), HUNT_SED
# (expressions that make the configuration out of the demo's), HUNT_LEAST,
# HUNT_MOST (nodes of a job), HUNT_WARM (jobs before the first fault), HUNT_JOBS
# (until it is given up), HUNT_LEFT (percent, or "random") and HUNT_LOADS
# (arguments of `lab load', an array).  HUNT_STREAMS: how many steady streams there
# are besides, each between two random nodes of 32 and for 1 to HUNT_STREAM_S / 5
# times 5 seconds, all for the same time.
# HUNT_FAULT: a kind of detection.lua's, HUNT_EVERY: seconds for which the fault
# is there, and then not, in turns, and HUNT_DO: `lab degrade', or `lab lose',
# with HUNT_LEFT.

POSITIONS='' KEEP='' HUNT_FAULT=${BENCH_FAULT:-} HUNT_EVERY='' HUNT_DO=degrade
HUNT_STREAMS=0 HUNT_STREAM_S=''
bench_option() { hunt_option "$@"; }
hunt_option() {
    case $1 in
    --positions) [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || return 0; POSITIONS=$2 ;;
    --keep) [ $# -gt 1 ] || return 0; KEEP=$2 ;;
    *) return 0 ;;
    esac
    return 2
}

# ---- inside the lab, as root on the controller ----

DATABASE=/var/lib/taut/taut.db

queued() { squeue -h -o %i | wc -l; }

# A run of COUNT free nodes from a random one on; fails where there are fewer.
free_run() {
    local count=$1 free start picked=()
    mapfile -t free < <(sinfo -h -N -t idle -o %N | sort -u -V)
    [ ${#free[@]} -ge "$count" ] || return 1
    start=$((RANDOM % ${#free[@]}))
    picked=("${free[@]:start:count}")
    picked+=("${free[@]:0:count - ${#picked[@]}}")
    (IFS=,; echo "${picked[*]}")
}

# submit: the next job, as soon as it fits
submit() {
    local nodes size=$((HUNT_LEAST + RANDOM % (HUNT_MOST - HUNT_LEAST + 1))) seconds=0.$((1 + RANDOM % 9))
    while [ "$(queued)" -ge 3 ]; do
        drop_stuck
        sleep 0.1
    done
    until nodes=$(free_run $size); do sleep 0.1; done
    submitted=$((submitted + 1))
    if [ -d /run/lab/alps ]; then # there is no srun that is checked
        bench_alice sbatch -Q -D / -N $size -w "$nodes" -o /dev/null --wrap "sleep $seconds" \
            >/dev/null || echo "failed sbatch -N $size"
    elif ((submitted % 2)); then
        bench_alice sbatch -Q -D / -N $size -w "$nodes" -o /dev/null \
            --wrap "srun sleep $seconds" >/dev/null || echo "failed sbatch -N $size"
    else
        bench_alice srun -Q -D / -N $size -w "$nodes" sleep $seconds 2>"$TMP/srun" ||
            grep -q 'revoked\|completing or completed' "$TMP/srun" || # drop_stuck
            echo "failed srun -N $size: $(head -n 1 "$TMP/srun")" &
    fi
    sleep 0.1
}

# A node may be drained between the choice of nodes and the job's start; such a
# job would wait for ever.
drop_stuck() {
    squeue -h -t PD -o '%i %r' | awk '/ReqNodeNotAvail/ { print $1 }' | xargs -r scancel
}

all_done() {
    while [ "$(queued)" -gt 0 ]; do
        drop_stuck
        sleep 0.1
    done
    wait
}

# "found TIME" once it is, else its state
# shellcheck disable=SC2086
state() { taut status --json | bench_lua lab/detection.lua state "$1" $HUNT_FAULT; }
is_found() { state "$1" | grep -q '^found'; }
is_well() { state "$1" | grep -qx 'ok\|unknown'; }

# hunt COMPONENT SEED: jobs until it is found
hunt() {
    local i submitted=0
    RANDOM=$2
    for ((i = 0; i < HUNT_JOBS; i++)); do
        is_found "$1" && break
        submit
    done
    all_done
    wait_until 30 is_found "$1"
    echo "until $1 $EPOCHREALTIME $(state "$1")"
}

# warm_up COUNT SEED: so many jobs before the first fault
warm_up() {
    local submitted=0
    RANDOM=$2
    while [ $submitted -lt "$1" ]; do
        submit
    done
    all_done
}

# recover COMPONENT SEED: healthy jobs, at least two, until it is well
recover() {
    local i submitted=0
    RANDOM=$2
    for ((i = 0; i < HUNT_JOBS; i++)); do
        [ $i -ge 2 ] && is_well "$1" && break
        submit
    done
    all_done
    wait_until 30 is_well "$1" || echo "failed $1 is $(state "$1") after $HUNT_JOBS healthy jobs"
}

copy_database() { bench_lua lab/detection.lua copy $DATABASE "$1"; }
usage_of_tautd() { bench_tautd_cpu | sed "s/^/tautd $1 /"; }
# shellcheck disable=SC2086
report() { bench_lua lab/detection.lua report "$2" $DATABASE $HUNT_NAME $HUNT_FAULT <"$1"; }

# ---- outside ----

# Slurm drains nodes, too, when the machine is too busy to end a step.
resume_slurms() {
    scene_drained | grep -v '|taut:' | while IFS='|' read -r node _; do
        lab exec scontrol update "nodename=$node" state=resume </dev/null
    done
}

# each_part COMPONENT,… COMMAND [ARG]: `lab COMMAND COMPONENT ARG' for each
each_part() {
    local part
    for part in ${1//,/ }; do
        lab "$2" "$part" "${@:3}" || return
    done
}

# in_turns COMPONENT LEFT: until $TMP/enough is there
in_turns() {
    while [ ! -e "$TMP/enough" ]; do
        sleep "$HUNT_EVERY"
        each_part "$1" heal
        sleep "$HUNT_EVERY"
        each_part "$1" "$HUNT_DO" "$2"
    done
}

# streams_in_turns NODES: until $TMP/quiet is there
streams_in_turns() {
    local i from to seconds
    RANDOM=$SEED
    while [ ! -e "$TMP/quiet" ]; do
        seconds=$((5 + 5 * (RANDOM % (HUNT_STREAM_S / 5))))
        for ((i = 0; i < HUNT_STREAMS; i++)); do
            from=$((RANDOM % $1)) to=$((RANDOM % ($1 - 1)))
            lab load "n$from" "n$((to + (to >= from)))" --steady --seconds $seconds || return
        done
        sleep $seconds
    done
}

one_position() {
    local component=$1 seed=$2 left=$HUNT_LEFT node turns=''
    [ "$left" != random ] || left=$((RANDOM = seed, 5 + RANDOM % 66))
    resume_slurms
    echo "from $component $EPOCHREALTIME $left"
    each_part "$component" "$HUNT_DO" "$left" || return
    [ -z "$HUNT_EVERY" ] || { in_turns "$component" "$left" & turns=$!; }
    bench_inside hunt "$component" "$seed" || return
    [ -z "$turns" ] || { touch "$TMP/enough"; wait "$turns"; rm "$TMP/enough"; }
    each_part "$component" heal || return
    node=${component%/?x}
    if [ "$node" != "$component" ] && scene_is_drained "$node"; then
        lab exec taut resume "$node" >/dev/null 2>&1 || {
            echo "failed resume: $(scene_drained | grep "^$node|")"
            lab exec scontrol update "nodename=$node" state=resume || return
        }
    fi
    bench_inside recover "$component" $((seed + 1))
}

# hunt_main DESCRIPTION ARG…
hunt_main() {
    local component k=0 components load conf=$TMP/taut.lua streams=''
    echo "$1"
    bench_machine
    sed -e '' "${HUNT_SED[@]/#/-e}" "$SCENE_DIR/demo.lua" >"$conf"
    bench_lab "${HUNT_LAB[@]}" --taut "$TAUT_PREFIX" --taut-conf "$conf" --slurm-conf MinJobAge=60
    for load in "${HUNT_LOADS[@]}"; do
        # shellcheck disable=SC2086
        lab load $load || die "lab load $load: failed"
    done
    [ "$HUNT_STREAMS" -eq 0 ] || { streams_in_turns 32 >/dev/null 2>"$TMP/streams" & streams=$!; }
    # with the topology that the lab has added
    lab exec cat /etc/taut/taut.lua >"$conf"
    mapfile -t components < <(bench_lua lab/detection.lua positions "$conf" "$POSITIONS" $HUNT_FAULT)
    bench_inside usage_of_tautd before >"$TMP/positions"
    bench_inside warm_up "$HUNT_WARM" $((SEED * 1000)) >>"$TMP/positions" || die "the first jobs failed"
    for component in "${components[@]}"; do
        k=$((k + 1))
        echo "$k of $POSITIONS: $component" >&2
        one_position "$component" $((SEED * 1000 + 2 * k)) >>"$TMP/positions" ||
            die "$component: failed"
    done
    [ -z "$streams" ] || { touch "$TMP/quiet"; wait $streams || die "lab load: $(cat "$TMP/streams")"; }
    bench_inside usage_of_tautd after >>"$TMP/positions"
    if [ -n "$KEEP" ]; then
        bench_inside copy_database "$TMP/kept.db" || die "$KEEP.db: not kept"
        mv "$TMP/kept.db" "$KEEP.db"
        cp "$TMP/positions" "$KEEP"
    fi
    bench_inside report "$TMP/positions" "$conf" | bench_figures
}
