# SPDX-License-Identifier: GPL-2.0-or-later
# taut-probe against a fake tautd, with a real munged, on loopback.
load node

setup() { node_setup; }
teardown() { node_teardown; }

@test "two nodes do a whole check, both directions" {
    need_munged
    # long ones: where other programs run, too, a process waits for tenths of a second
    plan "$(plan_test 1 send n2 500 1000)" "$(plan_test 2 recv n2 1600 1000 4)" >p1
    plan "$(plan_test 1 recv n1 500 1000)" "$(plan_test 2 send n1 1600 1000 4)" >p2
    start_tautd --nodes 2 --plan n1=p1 --plan n2=p2
    check n1 --budget-ms 10000 >log1 &
    check n2 --budget-ms 10000 >log2
    wait "$!" "$tautd_pid"
    cat tautd.out log1 log2
    [ ! -s log1 ]
    [ ! -s log2 ]
    [ "$(grep -c ^result tautd.out)" -eq 2 ]
    [ "$(grep -c '"error"' tautd.out)" -eq 0 ]
    [ "$(number_in "$(result_of 1)" bytes)" -gt 0 ]
    [ "$(number_in "$(result_of 2)" bytes)" -gt 0 ]
    [ "$(number_in "$(result_of 1)" refused)" -eq 0 ]
    result_of 1 | grep -q '"readings":"netdev lo rx_bytes=[0-9]'
}

@test "HELLO tells job, node, endpoint and counters" {
    need_munged
    start_tautd
    check n1 --uid 1000 --restart 2 --partition batch --slurm 22.05.8
    wait "$tautd_pid"
    cat tautd.out
    grep -q '"purpose":"prolog","job":7,"restart":2,"uid":1000' tautd.out
    grep -q '"partition":"batch","node":"n1","nodes":"n\[1-2\]"' tautd.out
    grep -q '"endpoint":"127.0.0.1:[0-9]' tautd.out
    grep -q '"slurm":"22.05.8"' tautd.out
    grep -q "\"boot\":\"$(cat /proc/sys/kernel/random/boot_id)\"" tautd.out
    grep -q '"readings":"netdev lo rx_bytes=' tautd.out
}

@test "an epilog has no endpoint" {
    need_munged
    start_tautd
    "$probe" epilog --servers "$server" --user "$(id -un)" --job 7 --node n1 \
        --nodes n1 --rundir "$dir/run" --munge-socket "$dir/munge/socket"
    wait "$tautd_pid"
    grep -q '"purpose":"epilog"' tautd.out
    grep -q '"endpoint":""' tautd.out
}

@test "an idle check reads its file and is quiet" {
    need_munged
    start_tautd
    cat >node.conf <<END
# as on the plugstack line
servers = $server
user = $(id -un)
rundir = $dir/run
munge_socket = $dir/munge/socket
END
    SLURMD_NODENAME=n9 run "$probe" --idle --conf node.conf
    wait "$tautd_pid"
    [ "$status" -eq 0 ]
    echo "$output"
    [ -z "$output" ]
    grep -q '"purpose":"idle","job":0,.*"node":"n9","nodes":"n9"' tautd.out
}

@test "only the user of tautd can read HELLO" {
    [ "$(id -u)" -eq 0 ] || skip "needs root to be another user"
    need_munged
    start_tautd
    check n1 --user nobody || true
    wait "$tautd_pid" || true
    grep -qi 'unauthorized' tautd.err
}

@test "streams do not run as root" {
    [ "$(id -u)" -eq 0 ] || skip "needs root to drop it"
    need_munged
    start_tautd
    run check n1 --run-as root
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$output" = "error: run_as: streams do not run as root; skipped" ]
}

@test "the second server is asked when the first is not there" {
    need_munged
    start_tautd
    server=127.0.0.1:1,$server
    run check n1
    wait "$tautd_pid"
    [ -z "$output" ]
    [ ! -s run-n1/holdoff ]
}

@test "a tautd that does not act: the next one is asked, and first the next time" {
    need_munged
    start_tautd --how elsewhere --nodes 2
    local standby=$server
    start_tautd --nodes 1
    server=$standby,$server
    run check n1
    wait "$tautd_pid"
    [ -z "$output" ]
    [ "$(tr -d ' ' <run-n1/server)" = "${server#*,}" ]
    [ ! -s run-n1/holdoff ]
    # the one that acted is asked first, though it is named last
    start_tautd --listen "${server#*,}"
    server=$standby,$server
    run check n1
    wait "$tautd_pid"
    [ -z "$output" ]
}

@test "no tautd acts: said, and no reason to hold off" {
    need_munged
    start_tautd --how elsewhere --nodes 1
    run check n1
    [ "$status" -eq 0 ]
    [ "$output" = "no tautd is active at the moment; skipped" ]
    [ ! -s run-n1/holdoff ]
}

@test "a server that is reached and says nothing is not asked first the next time" {
    need_munged
    start_tautd --how silent
    server=$server,127.0.0.1:1
    run check n1 --budget-ms 2000
    [[ $output == *"; no checks for 60 s" ]]
    [ "$(tr -d ' ' <run-n1/server)" = 127.0.0.1:1 ]
}

@test "no server: one line, then the next checks are free" {
    need_munged
    server=127.0.0.1:1,127.0.0.1:2
    run check n1
    [ "$status" -eq 0 ]
    [ "$output" = "error: server 127.0.0.1:2: Connection refused; no checks for 60 s" ]
    grep -q '^taut-holdoff 1 [0-9]* 60 ' run-n1/holdoff
    run check n1
    [ -z "$output" ]
}

@test "a server that is back ends the hold-off, one that is not leaves it short" {
    need_munged
    mkdir run-n1
    printf 'taut-holdoff 1 1 240 %s\n' \
        "$(cat /proc/sys/kernel/random/boot_id)" >run-n1/holdoff
    server=127.0.0.1:1
    run check n1
    [ -z "$output" ]
    grep -q '^taut-holdoff 1 [0-9]* 60 ' run-n1/holdoff
    printf 'taut-holdoff 1 1 480 %s\n' \
        "$(cat /proc/sys/kernel/random/boot_id)" >run-n1/holdoff
    start_tautd
    run check n1
    wait "$tautd_pid"
    [ -z "$output" ]
    [ ! -s run-n1/holdoff ]
}

@test "a ticket that is none: one line, and no failure" {
    run "$probe" prolog --servers 127.0.0.1:9 --user root --node n1 --interface lo \
        --rundir "$dir/run" --ticket </dev/null
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == "error: no ticket came with aprun; skipped" ]]
    run "$probe" prolog --servers 127.0.0.1:9 --user root --node n1 --interface lo \
        --rundir "$dir/run" --ticket <<<"abc MUNGE:x:"
    [ "$status" -eq 0 ]
    [[ $output == "error: standard input is not a ticket; skipped" ]]
    head -c 9000 /dev/zero | tr '\0' a >long
    run "$probe" prolog --servers 127.0.0.1:9 --user root --node n1 --interface lo \
        --rundir "$dir/run" --ticket <long
    [[ $output == "error: a ticket longer than 8192 bytes; skipped" ]]
}

@test "a silent tautd does not outlast the budget, and holds off" {
    need_munged
    start_tautd --how silent
    run check n1 --budget-ms 2000
    [ "$status" -eq 0 ]
    [ "$output" = "error: waiting for $server: Connection timed out; no checks for 60 s" ]
    grep -q ' 60 ' run-n1/holdoff
}

@test "a tautd that refuses is said, and is no reason to hold off" {
    need_munged
    start_tautd --how refuse
    run check n1
    [ "$output" = "error: no plan: the server refused this node" ]
    [ ! -s run-n1/holdoff ]
}

@test "a tautd that says why it refuses is quoted" {
    need_munged
    start_tautd --how say-no
    run check n1
    echo "$output"
    [ "$output" = "error: no plan: $server refused this node: no ?[2Jprobes today" ]
    [ ! -s run-n1/holdoff ]
}

@test "a tautd of the version before: the probe speaks that one" {
    need_munged
    probe=$TAUT_BUILDDIR/tests/fake/next-probe
    plan "$(plan_test 1 send n2 500 1000)" >p1
    plan "$(plan_test 1 recv n1 500 1000)" >p2
    start_tautd --nodes 2 --plan n1=p1 --plan n2=p2
    check n1 --budget-ms 10000 >log1 &
    check n2 --budget-ms 10000 >log2
    wait "$!" "$tautd_pid"
    cat tautd.out log1 log2
    [ ! -s log1 ]
    [ ! -s log2 ]
    [ "$(grep -c '^hello {"v":2,"oldest":1,' tautd.out)" -eq 2 ]
    [ "$(grep -c '^result {"v":1,' tautd.out)" -eq 2 ]
    [ "$(number_in "$(result_of 1)" bytes)" -gt 0 ]
}

@test "a forged plan is not carried out" {
    need_munged
    plan "$(plan_test 1 recv n1 20 25)" >p1
    start_tautd --how forge --plan n1=p1
    run check n1
    [ "$output" = "error: no plan: the answer of $server is forged or damaged" ]
    wait "$tautd_pid"
    grep -q '^closed n1' tautd.out
}

@test "an oversized, a misplaced and a cut frame end the check" {
    need_munged
    plan "$(plan_test 1 recv n1 20 25)" >p1
    for how in oversize wrongtype cut; do
        start_tautd --how $how --plan n1=p1
        run check n1
        echo "$how: $output"
        [ "$status" -eq 0 ]
        [[ $output == "error: no plan: "* ]]
        wait "$tautd_pid"
        grep -q '^closed n1' tautd.out
    done
}

@test "a plan that makes no sense is refused with its fault" {
    need_munged
    plan "$(plan_test 1 recv n1 20 2001)" >p1
    start_tautd --plan n1=p1
    run check n1
    [ "$output" = "error: PLAN, test 0: dur_ms is not in 5..2000; skipped" ]
}

@test "a note of tautd's is logged" {
    need_munged
    echo '{"v":1,"note":"PrologFlags lack Alloc","tests":[]}' >p1
    start_tautd --plan n1=p1
    run check n1
    [ "$output" = "PrologFlags lack Alloc" ]
}

@test "a test beyond the budget is reported as not done" {
    need_munged
    plan "$(plan_test 1 recv n1 5000 25)" >p1
    start_tautd --plan n1=p1
    run check n1 --budget-ms 3000
    wait "$tautd_pid"
    [ -z "$output" ]
    result_of 1 | grep -q '"id":1,"role":"recv","error":"the budget ended'
}

@test "nobody sends: 0 bytes, and no error" {
    need_munged
    plan "$(plan_test 1 recv n2 20 25)" >p1
    start_tautd --plan n1=p1
    run check n1
    wait "$tautd_pid"
    result_of 1 | grep -q '"role":"recv","bytes":0,"window_ns":20000000,"total_bytes":0'
}

@test "a peer that refuses streams is named" {
    need_munged
    sed 's/@n2@/127.0.0.1:1025/' <<<"$(plan "$(plan_test 1 send n2 20 25)")" >p1
    start_tautd --plan n1=p1
    run check n1
    wait "$tautd_pid"
    result_of 1 | grep -q '"error":"connect 127.0.0.1:1025: Connection refused"'
}

# endpoint: of n1, as HELLO told it, for bash's /dev/tcp
endpoint() {
    wait_for 'grep -q ^hello tautd.out'
    sed -n 's/.*"endpoint":"\([^:]*\):\([0-9]*\)".*/\1\/\2/p' tautd.out
}

@test "streams without a token are refused and counted" {
    need_munged
    plan "$(plan_test 1 recv n2 3000 25)" >p1
    start_tautd --plan n1=p1
    check n1 --budget-ms 10000 >log1 &
    check_pid=$!
    to=$(endpoint)
    exec 4<>/dev/tcp/$to 5<>/dev/tcp/$to
    printf 'GET / HTTP/1.0\r\n' >&4
    wait "$check_pid" "$tautd_pid"
    exec 4>&- 5>&-
    result_of 1
    [ "$(number_in "$(result_of 1)" refused)" -eq 2 ]
    [ "$(number_in "$(result_of 1)" total_bytes)" -eq 0 ]
}

@test "a peer that dies mid-stream leaves zeros in what follows" {
    need_munged
    plan "$(plan_test 1 recv n2 2000 1000)" >p1
    start_tautd --plan n1=p1
    check n1 --budget-ms 10000 >log1 &
    check_pid=$!
    exec 4<>/dev/tcp/$(endpoint)
    { printf '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1'; head -c 3000 /dev/zero; } >&4
    exec 4>&-
    wait "$check_pid" "$tautd_pid"
    result_of 1
    result_of 1 | grep -q '"total_bytes":3000,"sub_bytes":\[[0-9,]*,0\]'
}

@test "munge that is not there is said, and holds off" {
    mkdir munge
    server=127.0.0.1:1
    run check n1
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == "error: munge: "*"; no checks for 60 s" ]]
}

@test "munge that hangs is given up, and holds off" {
    need_munged
    kill -STOP "$(cat munge/pid)"
    server=127.0.0.1:1
    run check n1 --budget-ms 500
    kill -CONT "$(cat munge/pid)"
    echo "$output"
    [ "$output" = "error: munge does not answer; no checks for 60 s" ]
    grep -q ' 60 ' run-n1/holdoff
}

@test "a recorded /sys stands in for the machine's" {
    need_munged
    mkdir -p s/sys/class/net/lo/statistics
    echo 4711 >s/sys/class/net/lo/statistics/rx_errors
    start_tautd
    check n1 --sysroot "$dir/s"
    wait "$tautd_pid"
    grep -q '"readings":"netdev lo rx_errors=4711[" ]' tautd.out
}

# A recorded node of tests/data/sysfs whose interface $2 is called lo.
use_tree() {
    "$TAUT_SRCDIR/tests/data/sysfs/unpack" "$1" "$dir/s"
    mv "s/sys/class/net/$2" s/sys/class/net/lo
}

@test "all sources of an interface are told" {
    need_munged
    use_tree slingshot hsn1
    start_tautd
    run check n1 --sysroot "$dir/s"
    wait "$tautd_pid"
    cat tautd.out
    [ "$output" = "" ]
    grep -q '"readings":"netdev lo rx_bytes=90000001 ' tautd.out
    grep -q "\\\\ncxi lo hni_sts_rx_ok_octets=123456789012 .* state='up' speed='BS_200G' t=1700000000\\." tautd.out
    grep -q '\\npcie lo lanes=16 speed_MTps=16000 max_lanes=16 ' tautd.out
}

@test "a driver that hangs costs its counters, and nothing else" {
    need_munged
    use_tree hdr ib1
    rm s/sys/class/infiniband/mlx5_1/ports/1/state
    mkfifo s/sys/class/infiniband/mlx5_1/ports/1/state
    plan "$(plan_test 1 send n2 20 25)" >p1
    plan "$(plan_test 1 recv n1 20 25)" >p2
    start_tautd --nodes 2 --plan n1=p1 --plan n2=p2
    check n1 --budget-ms 5000 --sysroot "$dir/s" >log1 &
    check n2 --budget-ms 5000
    wait "$!" "$tautd_pid"
    cat tautd.out log1
    [ "$(grep -c '^error: counters: no answer in time from .*ib' log1)" -eq 1 ]
    [ "$(wc -l <log1)" -eq 1 ]
    [ "$(grep -c ^result tautd.out)" -eq 2 ]
    [ "$(grep -c '\\npcie lo lanes=8 ' tautd.out)" -ge 1 ]
    [ "$(grep -c '\\nib lo ' tautd.out)" -eq 0 ]
    wait_for "! pgrep -f 'sysroot $dir/s'"
}

@test "a bad command line is named, with status 2" {
    run "$probe" dance
    [ "$status" -eq 2 ]
    [ "$output" = "error: unknown purpose 'dance'" ]
    run "$probe" prolog --node n1 --budget-ms 1
    [ "$status" -eq 2 ]
    run "$probe" --help
    [ "$status" -eq 0 ]
    [[ ${lines[0]} == "usage: taut-probe "* ]]
}

@test "a node without the user taut says once what its streams run as" {
    [ "$EUID" -eq 0 ] || skip "needs root to become another user"
    ! grep -q ^taut: /etc/passwd || skip "there is a user taut"
    local check=("$probe" prolog --servers 127.0.0.1:9 --user root --node n1 --interface lo
        --rundir "$dir/run" --munge-socket /nonexistent)
    run "${check[@]}"
    [ "${lines[0]}" = "no user taut on this node, and no run_as: runs as nobody" ]
    : >run/holdoff
    run "${check[@]}"
    [[ $output != *"no user taut"* ]]
}

@test "the log says by what it is confined" {
    need_munged
    start_tautd
    check n1 --log debug >log1
    wait "$tautd_pid"
    grep -Eq '^debug: runs as uid [0-9]+; confined by (Landlock [0-9]+|seccomp|nothing)' log1
}

@test "the scripts for sites without SPANK prologs never fail" {
    cat >fake <<END
#!/bin/sh
echo "\$*" >$dir/args
exit 3
END
    chmod +x fake
    for script in taut-prolog.sh taut-epilog.sh; do
        TAUT_PROBE=$dir/fake run "$TAUT_BUILDDIR/plugin/$script"
        [ "$status" -eq 0 ]
        [ -z "$output" ]
        grep -q -- "--syslog --conf /.* --from-environ" args
    done
    TAUT_PROBE=/nonexistent run "$TAUT_BUILDDIR/plugin/taut-prolog.sh"
    [ "$status" -eq 0 ]
    [ -z "$output" ]
}

@test "a script stops a probe that hangs" {
    printf '#!/bin/sh\nexec sleep 1000\n' >fake
    chmod +x fake
    TAUT_HARD_STOP_S=0.2 TAUT_PROBE=$dir/fake \
        run "$TAUT_BUILDDIR/plugin/taut-prolog.sh"
    [ "$status" -eq 0 ]
}

@test "the prolog script gives a check half as much again as its budget" {
    printf '#!/bin/sh\nsleep 2\n: >%s/done\n' "$dir" >fake
    chmod +x fake
    printf 'servers=x\nbudget_ms=8000\n' >node.conf
    TAUT_CONF=$dir/node.conf TAUT_PROBE=$dir/fake \
        run "$TAUT_BUILDDIR/plugin/taut-prolog.sh"
    [ "$status" -eq 0 ]
    [ -e done ]
}

@test "the health check goes on to the site's own" {
    printf '#!/bin/sh\nexit 3\n' >fake
    printf '#!/bin/sh\necho "site check $1"; exit 7\n' >next
    chmod +x fake
    TAUT_PROBE=$dir/fake TAUT_HEALTHCHECK_NEXT=$dir/next \
        run "$TAUT_BUILDDIR/plugin/taut-healthcheck"
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    chmod +x next
    TAUT_PROBE=$dir/fake TAUT_HEALTHCHECK_NEXT=$dir/next \
        run "$TAUT_BUILDDIR/plugin/taut-healthcheck" arg
    [ "$status" -eq 7 ]
    [ "$output" = "site check arg" ]
}

# As NHC does: the configuration has the program's name, and where there is
# none nothing is checked.
nhc_like() {
    mkdir -p "$dir/bin"
    cat >"$dir/bin/checker" <<'END'
#!/bin/sh
conf=${0%/*}/${0##*/}.conf
[ -e "$conf" ] || exit 0
. "$conf"
END
    echo 'echo "ERROR: check_hw_mem"; exit 1' >"$dir/bin/checker.conf"
    chmod +x "$dir/bin/checker"
    printf '#!/bin/sh\nexit 0\n' >fake
    chmod +x fake
}

@test "a site's check that goes by its own name still fails behind the wrapper" {
    nhc_like
    echo 'print(require("taut.slurm.health_check").command(arg[1], arg[2]))' >write.lua
    TAUT_LUA_DIR=$TAUT_SRCDIR/lua "$TAUT_BUILDDIR/advisor/tautd" --lua write.lua \
        "$dir/bin/checker" "$dir/next" | sh
    [ "$(head -n 1 next)" = '#!/bin/sh' ]
    TAUT_PROBE=$dir/fake TAUT_HEALTHCHECK_NEXT=$dir/next \
        run "$TAUT_BUILDDIR/plugin/taut-healthcheck"
    [ "$status" -eq 1 ]
    [ "$output" = "ERROR: check_hw_mem" ]
}

@test "a link to a site's check does not switch it off" {
    nhc_like
    ln -s "$dir/bin/checker" next
    TAUT_PROBE=$dir/fake TAUT_HEALTHCHECK_NEXT=$dir/next \
        run "$TAUT_BUILDDIR/plugin/taut-healthcheck"
    [ "$status" -eq 1 ]
    ln -sf bin/checker next
    TAUT_PROBE=$dir/fake TAUT_HEALTHCHECK_NEXT=$dir/next \
        run "$TAUT_BUILDDIR/plugin/taut-healthcheck"
    [ "$status" -eq 1 ]
    [ "$output" = "ERROR: check_hw_mem" ]
}
