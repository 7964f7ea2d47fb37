# SPDX-License-Identifier: GPL-2.0-or-later
# The SPANK plugin in a stand-in for slurmstepd, with probes of every kind.
# Whatever the probe does, the hook returns 0 and says one clear line.

setup() {
    host=$TAUT_BUILDDIR/tests/fake/fake-spank-host
    plugin=$TAUT_BUILDDIR/plugin/.libs/spank_taut.so
    cd "$BATS_TEST_TMPDIR"
    dir=$PWD
    job=(SLURM_JOB_ID=123 SLURM_JOB_UID=1000 SLURMD_NODENAME=n5
        "SLURM_JOB_NODELIST=n[0-7]" SLURM_JOB_PARTITION=batch)
    options=("servers=127.0.0.1:9" "probe=$dir/probe" "rundir=$dir/run"
        budget_ms=400)
}

# probe: the lines of standard input become the probe
probe() {
    { echo "#!/bin/bash"; cat; } >probe
    chmod +x probe
}

# hook [OPTION...]: run job_prolog with the job's environment
hook() {
    run env -i "${job[@]}" "$host" "$plugin" "${which:-job_prolog}" \
        "${options[@]}" "$@"
    echo "$output"
    [ "$status" -eq 0 ]
    has "returned 0"
}

has() {
    local line
    for line in "${lines[@]}"; do
        [[ $line == $1 ]] && return 0
    done
    echo "no line like: $1"
    return 1
}

lacks() {
    ! has "$1" >/dev/null
}

@test "lines of the probe are logged with job and node" {
    probe <<<'echo "tested 3 links"; echo "error: it is dark"; echo "debug: 17"'
    hook
    has "info: taut: job 123 on n5: tested 3 links"
    has "error: taut: job 123 on n5: it is dark"
    has "debug: taut: job 123 on n5: 17"
    [ "${#lines[@]}" -eq 4 ]
}

@test "a quiet probe leaves no line" {
    probe <<<'exit 0'
    hook
    [ "$output" = "returned 0" ]
}

@test "the probe gets the job as arguments and no environment" {
    probe <<<'printf "%s\n" "$*"; env | grep -v -e ^PWD= -e ^SHLVL= -e ^_='
    job+=(SLURM_JOB_RESTART_COUNT=2 SPANK_EVIL=1 LD_PRELOAD_X=1)
    hook user=taut interface=hsn0 run_as=daemon munge_socket=/run/m.s
    has "*prolog --servers 127.0.0.1:9 --user taut --budget-ms * --job 123 --node n5 --nodes n\[0-7\] --interface hsn0 --restart 2 --uid 1000 --partition batch --run-as daemon --rundir $dir/run --munge-socket /run/m.s --slurm 22.05.8*"
    has "*PATH=/usr/sbin:/usr/bin:/sbin:/bin"
    lacks "*EVIL*"
    [ "${#lines[@]}" -eq 3 ]
}

@test "the epilog runs the same way" {
    probe <<<'echo "$1"'
    which=job_epilog
    hook
    has "info: taut: job 123 on n5: epilog"
}

# Over ALPS; S_CTX_REMOTE is 2.
over_alps() {
    which=$1
    shift
    job+=(FAKE_SPANK_CONTEXT=2 "$@")
    options+=(launch=aprun "launcher=$dir/launcher" launch_ms=700)
    printf '#!/bin/bash\n%s\n' "${launcher:-echo "\$*"}" >launcher
    chmod +x launcher
    hook
}

@test "over ALPS the batch script's slurmstepd starts the launcher" {
    over_alps init_post_opt FAKE_SPANK_STEP=script
    has "info: taut: job 123: launch prolog --probe $dir/probe --launch-ms 700 *"
    has "*--budget-ms 400 --job 123 --nodes n\[0-7\] *"
}

@test "over ALPS the script's end starts it for the epilog" {
    over_alps exit FAKE_SPANK_STEP=script
    has "info: taut: job 123: launch epilog *"
}

@test "over ALPS the job's prolog, and other steps, do nothing" {
    over_alps job_prolog
    [ "$output" = "returned 0" ]
    over_alps init_post_opt FAKE_SPANK_STEP=0
    [ "$output" = "returned 0" ]
}

@test "elsewhere slurmstepd does nothing" {
    probe <<<'echo here'
    which=init_post_opt
    job+=(FAKE_SPANK_CONTEXT=2 FAKE_SPANK_STEP=script)
    hook
    [ "$output" = "returned 0" ]
}

@test "a launcher that hangs is killed soon after launch_ms" {
    launcher='sleep 60' over_alps init_post_opt FAKE_SPANK_STEP=script
    has "error: taut: job 123: $dir/launcher killed, not done after 1000 ms"
}

@test "slurm 22.05 tells the nodes in SLURM_NODELIST only" {
    probe <<<'echo "$*"'
    job=(SLURM_JOB_ID=123 SLURMD_NODENAME=n5 "SLURM_NODELIST=n[1-4]")
    hook
    has "*--nodes n\[1-4\]*"
}

@test "a missing probe is named" {
    hook
    has "error: taut: job 123 on n5: cannot run $dir/probe: No such file or directory; skipped"
    [ "${#lines[@]}" -eq 2 ]
}

@test "a probe that is not executable is named" {
    echo >probe
    hook
    has "error: taut: job 123 on n5: cannot run $dir/probe: Permission denied; skipped"
}

@test "a probe that is no program is named" {
    echo "what is this" >probe
    chmod +x probe
    hook
    has "error: taut: job 123 on n5: *$dir/probe*"
}

@test "a probe that fails is named" {
    probe <<<'exit 3'
    hook
    has "error: taut: job 123 on n5: $dir/probe ended with status 3"
}

@test "a probe that crashes is named" {
    probe <<<'kill -SEGV $$'
    hook
    has "error: taut: job 123 on n5: $dir/probe died of signal 11 (Segmentation fault)"
    [ "${#lines[@]}" -eq 2 ]
}

@test "a probe that hangs is killed at the hard stop, with its children" {
    probe <<<"sleep 1000 & echo \$! >$dir/child; wait"
    hook
    has "error: taut: job 123 on n5: $dir/probe killed, not done after 600 ms"
    for i in $(seq 500); do
        state=$(cut -d' ' -f3 "/proc/$(cat child)/stat" 2>/dev/null) || true
        [ -z "$state" ] || [ "$state" = Z ] && break
        sleep 0.01
    done
    [ -z "$state" ] || [ "$state" = Z ]
}

@test "after a probe that hung the next prologs are free" {
    probe <<<"echo ran >>$dir/ran; sleep 1000"
    hook
    hook
    [ "$output" = "returned 0" ]
    [ "$(wc -l <ran)" -eq 1 ]
}

@test "a probe that closes its output and goes on is killed" {
    probe <<<'exec >&-; sleep 1000'
    hook
    has "*killed, not done after 600 ms"
}

@test "a probe that ends while its child holds the pipe does not hold the job" {
    probe <<<'sleep 1000 & echo done'
    hook
    has "info: taut: job 123 on n5: done"
    has "*killed, not done after 600 ms"
}

@test "a probe that spews is cut short" {
    probe <<<'exec yes "spam and spam and spam"'
    hook budget_ms=20000
    has "*more lines of output dropped"
    has "*killed, it wrote more than 1048576 bytes"
    [ "$(grep -c spam <<<"$output")" -eq 20 ]
}

@test "control characters do not reach the log" {
    probe <<<"printf 'a\\033[31mb\\rc\\0d\\n'"
    hook
    has "info: taut: job 123 on n5: a?\[31mb?c?d"
}

@test "a bad option is named and its default kept" {
    probe <<<'echo "$*"'
    hook budget_ms=soon colour=red log
    has "error: taut: plugstack.conf: budget_ms=soon: expected 50..60000; ignored"
    has "error: taut: plugstack.conf: unknown option 'colour'; ignored"
    has "error: taut: plugstack.conf: 'log': expected key=value; ignored"
    has "info: *--servers 127.0.0.1:9*"
}

@test "without servers nothing is run" {
    probe <<<'echo ran'
    options=("probe=$dir/probe")
    hook
    has "error: taut: plugstack.conf: no servers= given; skipped"
    [ "${#lines[@]}" -eq 2 ]
}

@test "without a node name nothing is run" {
    probe <<<'echo ran'
    job=(SLURM_JOB_ID=123 "SLURM_JOB_NODELIST=n[0-7]")
    hook
    has "error: taut: job 123: SLURMD_NODENAME is not set; skipped"
    [ "${#lines[@]}" -eq 2 ]
}

@test "a hostile node list is not passed on" {
    probe <<<'echo ran'
    job+=('SLURM_JOB_NODELIST=n[0-7] --servers evil')
    hook
    has "error: taut: job 123: SLURM_JOB_NODELIST: *; skipped"
    lacks "*ran*"
}

@test "a hostile partition is left out" {
    probe <<<'echo "$*"'
    job+=("SLURM_JOB_PARTITION=--run-as root")
    hook
    has "*--uid 1000 --rundir*"
}

@test "a node list of 100000 bytes is passed on" {
    probe <<<'echo "${#9} ${10} ${11}"; for a; do [ "${#a}" -gt 90000 ] && echo "list of ${#a}"; done'
    job+=("SLURM_JOB_NODELIST=$(head -c 100000 /dev/zero | tr '\0' n)")
    hook
    has "*list of 100000"
}

@test "a hold-off in force runs nothing" {
    probe <<<'echo ran'
    mkdir run
    printf 'taut-holdoff 1 %d 60 %s\n' \
        $(($(cut -d. -f1 /proc/uptime) + 30)) \
        "$(cat /proc/sys/kernel/random/boot_id)" >run/holdoff
    hook
    [ "$output" = "returned 0" ]
}

@test "a hold-off of an earlier boot is void" {
    probe <<<'echo ran'
    mkdir run
    printf 'taut-holdoff 1 %d 60 %s\n' \
        $(($(cut -d. -f1 /proc/uptime) + 30)) \
        01234567-89ab-cdef-0123-456789abcdef >run/holdoff
    hook
    has "*ran"
}

@test "a host that ignores its children, or has no 0, 1 and 2, is served" {
    probe <<<'echo ran'
    host="$host --ignore-children"
    run env -i "${job[@]}" $host "$plugin" job_prolog "${options[@]}"
    has "info: taut: job 123 on n5: ran"
    has "returned 0"
    run env -i "${job[@]}" $host --closed-stdio "$plugin" job_prolog \
        "${options[@]}"
    has "info: taut: job 123 on n5: ran"
    has "returned 0"
}

@test "the plugin links no library of slurm's" {
    run ldd "$plugin"
    lacks "*slurm*"
    lacks "*munge*"
}

# option CONTEXT VALUE: what slurm_spank_init does there (spank.h has the numbers)
option() {
    run env -i FAKE_SPANK_CONTEXT="$1" FAKE_SPANK_OPTION="$2" "$host" "$plugin" init
    echo "$output"
    [ "$status" -eq 0 ]
    has "returned 0"
}

@test "srun, sbatch, salloc and slurmstepd know --comm; prologs and slurmd do without" {
    local context
    for context in 1 2 3; do
        option $context halo3d:bytes=1M
        has "option --comm=*"
        has "callback 0"
        lacks "info: *"
    done
    for context in 0 4 5; do
        option $context halo3d
        [ "$output" = "returned 0" ]
    done
}

# injection CONTEXT VALUE PLUGSTACK-WORD…: what slurm_spank_user_init does there
injection() {
    local context=$1 value=$2
    shift 2
    run env -i FAKE_SPANK_CONTEXT="$context" ${value:+FAKE_SPANK_OPTION="$value"} \
        "$host" "$plugin" user_init "$@"
    echo "$output"
    [ "$status" -eq 0 ]
    has "returned 0"
}

@test "where the site says so, a step with --comm is told to inject less" {
    injection 2 halo3d injection=APRUN_BALANCED_INJECTION=70 servers=x
    has "setenv APRUN_BALANCED_INJECTION=70"
    injection 2 halo3d servers=x
    [ "$output" = "returned 0" ]
    injection 2 '' injection=APRUN_BALANCED_INJECTION=70
    [ "$output" = "returned 0" ]
    injection 1 halo3d injection=APRUN_BALANCED_INJECTION=70
    [ "$output" = "returned 0" ]
    for bad in 'injection=70' 'injection=7A=1' 'injection=A B=1' 'injection=A=$(x)'; do
        injection 2 halo3d "$bad"
        lacks "setenv *"
    done
}

@test "a --comm that is no pattern is mentioned, and the job goes on" {
    option 1 'no such; pattern'
    has "info: taut: --comm=no such; pattern: expected a pattern such as halo3d*; ignored"
    has "callback 0"
}
