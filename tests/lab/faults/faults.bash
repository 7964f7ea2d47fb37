# SPDX-License-Identifier: GPL-2.0-or-later
# What the tests of faults share: each begins on a cluster as it was made, with
# nothing held off, and leaves it so.

SCENE_DIR=${BATS_TEST_DIRNAME%/faults}
# shellcheck source=/dev/null
. "$SCENE_DIR/lib/tests.bash"

# faults_up NAME: their lab
faults_up() {
    small_conf "$BATS_FILE_TMPDIR/small.lua"
    export SMALL=$BATS_FILE_TMPDIR/small.lua
    lab_file "$1" lab up --torus 2x2x1 --node-cpus 2 --health-interval 5 \
        --taut "$TAUT_PREFIX" --taut-conf "$SMALL"
    lab exec bash -c 'mkdir /etc/taut/as-made
        cp /etc/slurm/*.conf /etc/taut/taut.lua /etc/taut/as-made'
}

faults_begin() {
    lab_test
    settled
    mark
}

faults_end() {
    [ -z "$LAB_MISSING" ] || return 0
    lab_report
    as_made
    lab daemon resume tautd 2>/dev/null || true
    lab daemon start tautd >/dev/null 2>&1 || true
    lab heal --all
    cancel_all
    wait_until 60 no_jobs
    # a node that is drained here, or a component that is slow, is the next
    # test's no business
    if [ -z "${BATS_TEST_COMPLETED:-}" ] || ! nothing_drained ||
        [ "$(status 'print(#s.verdicts)')" != 0 ]; then
        fresh_tautd
    fi
    wait_until 60 all_idle
}

# as_made: the configuration files, as they were at the beginning
as_made() {
    lab exec bash -c 'cd /etc/taut/as-made
        cmp -s plugstack.conf /etc/slurm/plugstack.conf || cp plugstack.conf /etc/slurm/
        cmp -s taut.lua /etc/taut/taut.lua || cp taut.lua /etc/taut/
        cmp -s slurm.conf /etc/slurm/slurm.conf ||
            { cp slurm.conf /etc/slurm/; scontrol reconfigure; }'
}

# job SRUN-OPTION…: run a job on nodes of its own; sets JOB and checks that it
# was not held longer than a hanging machine would explain
job() {
    local began=$SECONDS
    JOB=$(lab exec timeout 60 srun -Q --exclusive "$@" printenv SLURM_JOB_ID | head -n 1)
    [ -n "$JOB" ]
    [ $((SECONDS - began)) -le 30 ]
}

# settled: what a node in hold-off did not say, tautd has from Slurm now
settled() {
    clear_holdoff
    wait_until 60 no_jobs
    wait_until 20 asked_since "$EPOCHREALTIME"
}
# asked_since TIME: has tautd asked Slurm for nodes and jobs since?
asked_since() {
    lab exec taut advise -N 1 --json 2>/dev/null | lab_json 'os.exit((d.as_of or 0) > tonumber(arg[1]))' "$1"
}

explained() { lab exec taut explain --job "$JOB"; }
explain_says() { explained | grep -Eq -- "$1"; }

# Nobody is drained and nothing is held against anybody.
unharmed() {
    nothing_drained
    [ "$(status 'print(s.states.suspect + s.states.slow + s.states.failed)')" = 0 ]
}

# wrap_probe NODES BODY: on these nodes (a glob) prologs run BODY in the
# probe's place; it has $probe and the probe's arguments
wrap_probe() {
    lab exec install -m 755 /dev/stdin /etc/taut/wrapped-probe <<END
#!/bin/bash
probe=$TAUT_PREFIX/libexec/taut/taut-probe
case \$1-\$(hostname) in
prolog-$1)
$2
;;
esac
exec \$probe "\$@"
END
    plugstack 's|probe=[^ ]*|probe=/etc/taut/wrapped-probe|'
}

# plugstack SED…: change plugstack.conf, which every prolog reads
plugstack() {
    lab exec sed -i "${@/#/-e}" /etc/slurm/plugstack.conf
}

