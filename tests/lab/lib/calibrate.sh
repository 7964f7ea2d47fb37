# SPDX-License-Identifier: GPL-2.0-or-later
# Which rate does this machine keep up with?

# A 4x2x2 torus with all of its 128 ports busy: from each router the first
# node sends one step in X and one in Y, the second one step back in X and
# one in Z.  Every tx, rx and link then carries exactly one stream.
# busy_target NODE: sets TARGET.
busy_target() {
    local X Y Z INDEX
    coordinates $(($1 / 2))
    if [ $(($1 % 2)) -eq 0 ]; then router_index $(((X + 1) % 4)) $((1 - Y)) "$Z"
    else router_index $(((X + 3) % 4)) "$Y" $((1 - Z)); fi
    TARGET=$((2 * INDEX + $1 % 2))
}

cpu_times() { awk '/^cpu /{ print $2 + $3 + $4 + $7 + $8 + $9, $5 + $6 }' /proc/stat; }

# Mean and lowest of all streams in percent of the rate, and processor time in
# percent of all processors.
busy_spell() {
    local n TARGET program before after pids=()
    program=$(lab_program labstream)
    before=$(cpu_times)
    for ((n = 0; n < NODES; n++)); do
        busy_target $n
        in_net n$n "$program" measure "${NODE_ADDRESS[TARGET]}" \
            $SINK_PORT --ms 2000 --warmup 500 >$LAB_RUN/busy.$n &
        pids+=($!)
    done
    wait "${pids[@]}"
    after=$(cpu_times)
    awk -v rate="$TX_BPS" -v a="$before" -v b="$after" '
        { share = $1 * 8 / rate * 100; sum += share
          if (NR == 1 || share < low) low = share }
        END { split(a, x); split(b, y); used = y[1] - x[1]
              printf "%5.1f %5.1f %5.0f\n", sum / NR, low,
                     100 * used / (used + y[2] - x[2]) }' $LAB_RUN/busy.*
}

# The best of five spells: whatever else the machine does only makes it worse.
busy_figures() {
    local n
    for ((n = 0; n < NODES; n++)); do sink_up $n; done
    for n in {1..5}; do busy_spell; done | sort -n | tail -n 1 | tr -d '\n'
}

# One link at three capacities: median, lowest and highest of 50 tests in
# percent of the capacity.
accuracy_figures() {
    local percent
    for percent in 100 50 25; do
        cmd_degrade r0.0.0/X+ $percent
        cmd_measure n0 n8 --repeat "${LAB_TESTS:-50}" | sort -n |
            awk -v cap=$((LINK_BPS * percent / 100)) '
                { v[NR] = $1 * 8 / cap * 100 }
                END { printf "  %6.1f %5.1f..%5.1f", v[int((NR + 1) / 2)], v[1], v[NR] }'
    done
    cmd_heal r0.0.0/X+
}

calibrate_inside() {
    busy_figures
    accuracy_figures
    echo
}

lab_calibrate() {
    local rate rates='50mbit 100mbit 200mbit 400mbit'
    while [ $# -gt 0 ]; do
        case $1 in
        --rates) need_value "$@"; rates=$2; shift 2 ;;
        *) die "usage: lab calibrate [--rates '50mbit 100mbit ...']" ;;
        esac
    done
    echo "4x2x2, 32 nodes, $(nproc) processors; all 128 ports busy for 2 s, then one"
    echo "link alone: 50 tests of 24 ms, 4 ms of them left out.  All in percent."
    echo "           all busy           link at 100           at 50              at 25"
    echo "rate       mean slowest cpu   median  range         median  range      median  range"
    for rate in $rates; do
        printf '%-9s ' "$rate"
        (
            LAB_NAME=calibrate-$$
            lab_up --torus 4x2x2 --no-slurm --rate "$rate" >/dev/null || exit
            INIT=$(lab_init)
            trap 'kill_init $INIT' EXIT
            nsenter -t "$INIT" -m -u -i -n -p -- "$LAB_DIR/lab" --inside calibrate-one
        ) || die "calibration at $rate failed"
    done
}
