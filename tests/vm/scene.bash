# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# A lab over verbs, in the virtual machine; sourced, after tests/lab/lib/scenes.sh.
VM_DIR=${VM_DIR:-$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)}

# verbs_conf FILE FABRIC…: demo.lua for it.  One processor carries everything, so that nodes
# come late and streams run in bursts: a process waits 10 ms for its turn, which is to be less than
# an eighth of a test (what is uneven is discarded), and a test of 25 ms over what carries 3 MB/s
# would be 38 of the least messages, a few of each of 16 streams.
verbs_conf() {
    local file=$1
    shift
    sed -e 's/^checks = { /&budget_ms = 2000, /' -e 's/spell_s = 10/spell_s = 5/' \
        -e 's/^   checks = {/&\n      gather_ms = 2000, test_ms = 250, gap_ms = 15, confirm_streams = 4,/' \
        "$SCENE_DIR/demo.lua" >"$file"
    lab topology "$@" >>"$file"
}

# verbs_up TYPE FILE FABRIC…: nodes with devices of this type (rxe, siw), FILE their taut.lua
verbs_up() {
    local type=$1 conf=$2
    shift 2
    "$VM_DIR/stubs" || { echo "no stubs" >&2; return 1; }
    verbs_conf "$conf" "$@"
    lab up "$@" --node-cpus 1 --rdma "$type" --health-interval 300 \
        --taut "$TAUT_PREFIX" --taut-conf "$conf" || return
    lab exec bash -c 'options="transport=ofi provider=verbs budget_ms=6000"
        sed -i "s/\$/ $options/" /etc/slurm/plugstack.conf
        mkdir -p /etc/taut && tr " " "\n" <<<"$options" >>/etc/taut/node.conf'
}

# Run inside the lab, all in one go: each `lab exec' takes a second here.
inside() { # FUNCTION ARG…
    lab exec bash -c "JOBS_MOST=${JOBS_MOST:-60}; JOBS_NODES=${JOBS_NODES:-}
        $(declare -f pair job verdicts until_jobs is_named is_well)
        \"\$@\"" _ "$@"
}

# Two nodes at random, of JOBS_NODES or of all, that nobody drained.
pair() { sinfo -h -N -t idle ${JOBS_NODES:+-n "$JOBS_NODES"} -o %N | sort -u | shuf -n 2 | paste -sd,; }

job() {
    local nodes
    nodes=$(pair)
    [[ $nodes == *,* ]] || { sleep 1; return; }
    (cd / && setpriv --reuid alice --regid alice --init-groups -- \
        timeout 60 srun -Q -N 2 -w "$nodes" true) 2>/dev/null
}

# Components with a verdict, "n3/tx slow" each.
verdicts() {
    taut status --json |
        jq -r '.verdicts[] | select(.state == "slow" or .state == "failed" or .state == "lossy")
            | "\(.component) \(.state)"'
}

# until_jobs COMMAND…: ordinary jobs until it succeeds; how many, or fails
until_jobs() {
    local n
    for ((n = 1; n <= JOBS_MOST; n++)); do
        job
        "$@" && { echo $n; return; }
    done
    return 1
}
is_named() { verdicts | grep -q "^$1 ${2:-}"; } # COMPONENT [STATE]
is_well() { [ -z "$(verdicts)" ]; }
