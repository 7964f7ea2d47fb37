#!/usr/bin/env bats
# time limit: 2400 s
# SPDX-License-Identifier: GPL-2.0-or-later
# When things are wrong: in each case the job runs, nothing is drained by the
# fault itself, and one clear line says what was skipped.

load faults/faults.bash

setup_file() {
    can_have_lab || return 0
    faults_up faults
}
teardown_file() { lab_file_end; }
setup() { faults_begin; }
teardown() { faults_end; }

# slurm_conf_lines LINE…: each takes the place of the one with its key
slurm_conf_lines() {
    local line
    for line; do
        lab exec bash -c 'sed -i "/^${1%%=*}=/d" /etc/slurm/slurm.conf
            echo "$1" >>/etc/slurm/slurm.conf' _ "$line"
    done
    lab exec scontrol reconfigure
}

# find_drained NODE: jobs until it is drained
find_drained() {
    find_state "scene_is_drained $1"
}

find_state() {
    local i
    for ((i = 0; i < 60; i++)); do
        job -N $((3 + i % 6))
        eval "$1" && return
    done
    wait_until 20 eval "$1"
}

refused() { status 'print(s.refused)'; }
is_refused() { [ "$(refused)" -eq "$1" ]; }

# ---------------------------------------------------------------- tautd

@test "tautd down: jobs run, one line a node, then prologs are free until it is back" {
    lab daemon stop tautd
    job -N 4 -w n[0-3]
    # a prolog or the node's idle check was the first to see it
    local n
    for n in n0 n1 n2 n3; do
        says nodes "$n: .*no checks for 60 s" || says syslog "$n: .*no checks for 60 s"
    done
    [ "$(holdoffs)" -ge 4 ]
    mark
    job -N 4 -w n[0-3]
    [ -z "$(since nodes)" ]
    nothing_drained
    run lab exec taut status
    [ "$status" -eq 1 ]
    [[ $output == "taut: tautd does not answer at "* ]]

    # started late: the file says until when; at that moment the next one asks
    lab daemon start tautd
    job -N 4 -w n[0-3]
    ! says tautd "job $JOB" || false
    lab exec bash -c 'sed -i -E "s/^(taut-holdoff 1 )[0-9]+/\10/" /run/lab/run.n*/taut/holdoff'
    job -N 4 -w n[0-3]
    wait_until 10 explain_says 'on 4 nodes: 4 heard from, [1-9][0-9]* tests'
    wait_until 20 eval '[ "$(holdoffs)" -eq 0 ]'
    unharmed
}

@test "tautd hangs: prologs end within their budget" {
    lab daemon pause tautd
    job -N 4 -w n[0-3]
    says nodes 'no checks for 60 s'
    lab daemon resume tautd
    settled
    job -N 4 -w n[0-3]
    wait_until 10 explain_says '[1-9][0-9]* tests'
    unharmed
}

@test "tautd is restarted while jobs start" {
    scene_jobs 8 5 2 8 3 &
    local jobs=$! i
    for i in 1 2 3; do
        sleep 1
        lab daemon restart tautd
        clear_holdoff
    done
    wait $jobs
    unharmed
    settled
    # on a busy machine one of the four may come after the others have begun
    all_four() { job -N 4 && wait_until 10 explain_says 'on 4 nodes: 4 heard from, [1-9][0-9]* tests'; }
    wait_until 60 all_four
}

@test "a restart keeps mode, suspects, drains, and ids go on" {
    conf_of "$SMALL" 's/slow_low = 3/slow_low = 50/'
    lab exec taut config reload
    lab exec taut policy observe
    lab degrade n3/tx 25
    find_state "scene_is_state n3/tx suspect"
    job -N 4
    local last before
    last=$(lab exec taut explain n3 --json | lab_json 'print(d.tests[1].id)')
    snapshot() {
        status 'print(s.mode); for _, v in ipairs(s.verdicts) do print(v.component, v.state) end' |
            sort
    }
    stands_still() {
        local was=$before
        sleep 1
        before=$(snapshot)
        [ "$before" = "$was" ]
    }
    lab exec taut off # no test may come in between; those under way may still end
    wait_until 20 asked_since "$EPOCHREALTIME"
    before=$(snapshot)
    wait_until 20 stands_still
    [[ $before == *"n3/tx	suspect"* ]]
    lab daemon restart tautd
    clear_holdoff
    wait_until 10 eval '[ "$(snapshot)" = "$before" ]'
    [ "$(status 'print(s.switch)')" = off ]
    lab exec taut on
    job -N 8
    wait_until 10 explain_says 'n3'
    [ "$(lab exec taut explain --job "$JOB" --json | lab_json 'print(d.tests[1].id)')" -gt "$last" ]

    # now let it decide, and forget nothing of that either
    as_made
    lab exec taut config reload
    lab exec taut policy drain
    find_drained n3
    before=$(full_reason n3)
    lab daemon restart tautd
    clear_holdoff
    wait_until 10 eval '[ "$(status "print(s.drained[1] and s.drained[1].node)")" = n3 ]'
    [ "$(full_reason n3)" = "$before" ]
    scene_is_state n3/tx slow
    lab heal --all
    lab exec taut resume n3
    nothing_drained
}

# ---------------------------------------------------------------- nodes

@test "a node that never reports: the others are tested, it is listed as silent" {
    wrap_probe n2 'exit 0'
    lab exec sbatch -Q -N 4 -w n[0-3] --exclusive -o /dev/null --wrap "sleep 40"
    silent() { [ "$(status 'print(table.concat(s.silent, " "))')" = n2 ]; }
    wait_until 60 silent
    run lab exec taut status
    [[ $output == *"silent      n2"* ]]
    JOB=$(lab exec squeue -h -o %i)
    explain_says 'on 4 nodes: 3 heard from, [1-9][0-9]* tests'
    unharmed
}

@test "no plugin, no probe: the job runs, the log says what is missing" {
    plugstack 's|probe=[^ ]*|probe=/nonexistent|'
    job -N 2 -w n[0-1]
    says nodes "job $JOB on n0: cannot run /nonexistent: No such file or directory; skipped"
    plugstack 's|/spank_taut.so|/nonexistent.so|'
    job -N 2 -w n[0-1]
    nothing_drained
}

@test "a peer that dies in the middle of a stream: its tests are discarded" {
    # killed as soon as a stream of the fabric (10.0.0.0/8) is open
    wrap_probe n2 '
"$probe" "$@" & pid=$!
open=" [0-9A-F]{6}0A:[0-9A-F]{4} [0-9A-F]{8}:[0-9A-F]{4} 01 "
for ((i = 0; i < 2000; i++)); do
    [[ $(</proc/self/net/tcp) =~ $open ]] && break
done
kill -9 $pid
wait $pid
kill -9 $$'
    # on a machine that is too busy it may have reported by then
    local i
    for i in 1 2 3 4 5; do
        settled
        job -N 4 -w n[0-3]
        one_line nodes "job $JOB on n2: .*wrapped-probe died of signal 9 .Killed."
        ! wait_until 1 explain_says ' discarded .*n2 did not report' || break
    done
    explain_says ' discarded .*n2 did not report'
    explained >"$BATS_TEST_TMPDIR/explained"
    # what did not touch it counts
    grep -Eq ' good ' "$BATS_TEST_TMPDIR/explained"
    ! grep -Eq ' low ' "$BATS_TEST_TMPDIR/explained" || false
    unharmed
}

@test "a probe that hangs is killed at the hard stop, and held off" {
    wrap_probe 'n[01]' 'exec sleep 60'
    job -N 2 -w n[0-1]
    one_line nodes "error: taut: job $JOB on n0: .*wrapped-probe killed, not done after 1500 ms"
    one_line nodes "error: taut: job $JOB on n1: .*wrapped-probe killed, not done after 1500 ms"
    [ "$(holdoffs)" -ge 2 ]
    unharmed
}

@test "a probe that crashes" {
    wrap_probe 'n[01]' 'kill -SEGV $$'
    job -N 2 -w n[0-1]
    one_line nodes "error: taut: job $JOB on n0: .*wrapped-probe died of signal 11 .Segmentation fault."
    unharmed
}

# ---------------------------------------------------------------- munge

# A munged of Taut's own, with Slurm's key; Slurm itself needs the other one.
own_munged() {
    lab exec setpriv --reuid munge --regid munge --init-groups munged \
        --socket=/run/munge/taut.socket --key-file=/etc/munge/munge.key \
        --pid-file=/run/munge/taut.pid --log-file=/var/log/munge/taut.log \
        --seed-file=/var/lib/munge/taut.seed --force
}
signal_munged() { lab exec bash -c "kill -$1 \$(cat /run/munge/taut.pid)"; }

@test "munged down, munged hanging on the nodes: jobs run unchecked" {
    plugstack 's|$| munge_socket=/run/munge/taut.socket|'
    job -N 2 -w n[0-1]
    one_line nodes "job $JOB on n0: munge.*; no checks for 60 s"
    unharmed
    own_munged
    settled
    job -N 2 -w n[0-1]
    wait_until 10 explain_says 'on 2 nodes: 2 heard from, [1-9][0-9]* tests'
    signal_munged STOP
    mark
    job -N 2 -w n[0-1]
    one_line nodes "job $JOB on n0: munge does not answer; no checks for 60 s"
    signal_munged CONT
    signal_munged TERM
    unharmed
}

@test "munged hanging beside tautd: prologs end, and it goes on afterwards" {
    own_munged
    conf_of "$SMALL" '1i munge_socket = "/run/munge/taut.socket"'
    lab daemon restart tautd
    settled
    job -N 2 -w n[0-1]
    wait_until 10 explain_says '[1-9][0-9]* tests'
    signal_munged STOP
    mark
    job -N 2 -w n[0-1]
    says nodes "job $JOB on n0: .*no checks for 60 s" ||
        says syslog 'n0: .*no checks for'
    # it is not stopped by that
    lab exec taut status >/dev/null
    signal_munged CONT
    settled
    job -N 2 -w n[0-1]
    wait_until 10 explain_says '[1-9][0-9]* tests'
    # and without any munged every HELLO is refused
    signal_munged TERM
    sleep 1.1 # refusals are logged once a second
    job -N 2 -w n[0-1]
    says nodes "job $JOB on n0: no plan: the server refused this node"
    wait_until 5 says tautd 'refused a message from .*: HELLO: .*/run/munge/taut.socket'
    unharmed
    as_made
    lab daemon restart tautd
}

# ---------------------------------------------------------------- jobs

@test "a job cancelled in its prolog" {
    wrap_probe '*' 'sleep 1'
    local id
    id=$(lab exec sbatch --parsable -N 4 --exclusive -o /dev/null --wrap "sleep 30")
    wait_until 30 eval '[ "$(lab exec squeue -h -j $id -o %t)" != PD ]'
    sleep 0.3
    lab exec scancel "$id"
    wait_until 60 no_jobs
    wait_until 30 all_idle
    unharmed
    job -N 8
    wait_until 10 explain_says 'on 8 nodes: 8 heard from'
}

@test "a requeued job is checked again, both checks are kept apart" {
    JOB=$(lab exec sbatch --parsable --requeue -N 2 --exclusive -o /dev/null \
        --wrap "touch /var/spool/begun; sleep 300")
    running() { [ "$(lab exec squeue -h -j "$JOB" -o %t)" = R ]; }
    # requeued before its script begins, Slurm would run no second prolog
    wait_until 30 lab exec rm /var/spool/begun 2>/dev/null
    wait_until 10 explain_says 'on 2 nodes: 2 heard from'
    lab exec scontrol requeue "$JOB"
    wait_until 30 eval '! running'
    # Slurm would let it wait for two minutes; begun again within a second or
    # so, it would have no second prolog
    sleep 3
    wait_until 30 lab exec scontrol update jobid="$JOB" starttime=now
    again() { [ "$(explained | grep -c 'prolog of job .*on 2 nodes: 2 heard from')" -eq 2 ]; }
    wait_until 60 again
    [ "$(lab exec taut explain --job "$JOB" --json |
        lab_json 'for _, e in ipairs(d.events) do print(e.restart) end' | sort -u)" = $'0\n1' ]
    unharmed
}

@test "an array job: each task is a job of its own" {
    lab exec sbatch -Q -W --array=1-3 -N 2 --exclusive -o /var/spool/array.%a \
        --wrap 'srun printenv SLURM_JOB_ID'
    local i
    for i in 1 2 3; do
        JOB=$(lab exec head -n 1 /var/spool/array.$i)
        explain_says 'on 2 nodes: 2 heard from'
    done
    unharmed
}

@test "a heterogeneous job: each part is checked by itself" {
    lab exec srun -Q --exclusive -N 2 printenv SLURM_JOB_ID : \
        --exclusive -N 3 printenv SLURM_JOB_ID >"$BATS_TEST_TMPDIR/ids"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/ids")" -eq 5 ]
    local first
    first=$(sort -n "$BATS_TEST_TMPDIR/ids" | head -n 1)
    JOB=$first
    wait_until 10 explain_says 'on 2 nodes: 2 heard from'
    JOB=$((first + 1))
    wait_until 10 explain_says 'on 3 nodes: 3 heard from'
    unharmed
}

@test "a job of one node has nothing to test" {
    job -N 1
    wait_until 10 explain_says 'on 1 node: not checked: single'
    unharmed
}

@test "a job that shares its nodes is not checked, and it is said with whom" {
    local first
    first=$(lab exec sbatch --parsable -N 2 -n 2 -w n[0-1] -o /dev/null --wrap "sleep 60")
    wait_until 30 eval '[ "$(lab exec squeue -h -j $first -o %t)" = R ]'
    JOB=$(lab exec srun -Q -N 2 -n 2 -w n[0-1] printenv SLURM_JOB_ID | head -n 1)
    # by Slurm's list, or, where Slurm does not know the job yet, by a node's own word
    local why="not checked: n[01] (is shared with job $first|says that it has job $first, too)"
    wait_until 10 explain_says "$why"
    ! says tautd "job $JOB on 2 nodes" || false # no line a job, but at level info
    unharmed
}

# ---------------------------------------------------------------- configuration

@test "a bad configuration: file and line are said, the old one stays" {
    conf_of "$SMALL" 's/cap_nodes = 4/cap_nodes = "many"/'
    local line
    line=$(grep -n many "$BATS_FILE_TMPDIR/taut.lua" | cut -d: -f1)
    run lab exec taut config check
    [ "$status" -eq 1 ]
    [[ $output == *"/etc/taut/taut.lua:$line: policy.cap_nodes: expected "*'got "many"'* ]]
    run lab exec taut config reload
    [ "$status" -eq 1 ]
    run lab exec taut status
    [ "$status" -eq 0 ]
    [[ $output == *"config      not taken: /etc/taut/taut.lua:$line: "* ]]
    one_line tautd "configuration not taken: /etc/taut/taut.lua:$line: "
    job -N 2
    wait_until 10 explain_says 'on 2 nodes: 2 heard from'
    conf_of "$SMALL" '1i this is no Lua'
    run lab exec taut config reload
    [ "$status" -eq 1 ]
    [[ $output == *"/etc/taut/taut.lua:1: "* ]]
    # ours to correct
    as_made
    lab exec taut config reload
    run lab exec taut status
    [[ $output != *"not taken"* ]]
    unharmed
}

# ---------------------------------------------------------------- database

events() { status 'print(s.jobs_heard)'; }

@test "a full database: said, checks go on, waiting rows are written afterwards" {
    lab daemon stop tautd
    lab exec bash -c 'mkdir -p /var/spool/full && mount -t tmpfs -o size=1m,mode=777 full /var/spool/full'
    conf_of "$SMALL" '1i database = "/var/spool/full/taut.db"'
    start_tautd
    job -N 2
    local first=$JOB
    wait_until 10 explain_says 'on 2 nodes: 2 heard from'
    lab exec bash -c 'cat /dev/zero >/var/spool/full/filler' 2>/dev/null || true
    job -N 2
    local second=$JOB
    wait_until 20 says tautd 'error: cannot write the database: .*; checks go on, rows are kept in memory'
    run lab exec taut status
    [[ $output =~ database\ +cannot\ be\ written:\ .*\;\ [1-9][0-9]*[[:space:]]+rows[[:space:]]+wait ]]
    job -N 2
    local third=$JOB
    lab exec rm /var/spool/full/filler
    wait_until 20 says tautd 'notice: the database can be written again; [0-9]+ rows were waiting'
    for JOB in "$first" "$second" "$third"; do
        wait_until 10 explain_says 'on 2 nodes: 2 heard from, [1-9][0-9]* tests'
    done
    run lab exec taut status
    [[ $output != *"cannot be written"* ]]
    unharmed
    lab daemon restart tautd
    clear_holdoff
    for JOB in "$first" "$second" "$third"; do
        wait_until 10 explain_says 'on 2 nodes: 2 heard from, [1-9][0-9]* tests'
    done
    lab daemon stop tautd
    lab exec umount /var/spool/full
    as_made
    start_tautd
}

@test "a database that cannot be opened at the start loses nothing once it can" {
    job -N 2
    local first=$JOB before
    wait_until 10 explain_says 'on 2 nodes: 2 heard from, [1-9][0-9]* tests'
    before=$(explained)
    lab daemon stop tautd
    lab exec bash -c 'chown root /var/lib/taut/taut.db*; chmod 600 /var/lib/taut/taut.db*'
    start_tautd
    wait_until 20 says tautd 'error: .*cannot open database /var/lib/taut/taut.db'
    run lab exec taut status
    [[ $output == *"database    cannot be written: "* ]]
    job -N 2
    local second=$JOB
    job -N 4
    nothing_drained
    lab exec bash -c 'chown slurm /var/lib/taut/taut.db*'
    wait_until 60 eval '! lab exec taut status | grep -q "cannot be written"'
    wait_until 20 explain_says 'on 4 nodes: 4 heard from, [1-9][0-9]* tests'
    JOB=$second
    explain_says 'on 2 nodes: 2 heard from, [1-9][0-9]* tests'
    JOB=$first
    explained
    # what was stored is as it was; only its counters may have grown
    [ "$(explained | sed '/^counters/,$d')" = "$(sed '/^counters/,$d' <<<"$before")" ]
    unharmed
}

@test "under a service manager it is syslog that hears of a database out of reach" {
    lab daemon stop tautd
    lab exec bash -c 'chmod 000 /var/lib/taut
        NOTIFY_SOCKET=/run/lab/nobody setpriv --reuid slurm --regid slurm --init-groups \
            tautd -c /etc/taut/taut.lua </dev/null >/dev/null 2>&1 &
        echo $! >/run/lab/pid/tautd'
    wait_until 20 says syslog 'taut.*: .*cannot open database /var/lib/taut/taut.db'
    wait_until 20 eval 'lab exec taut status | grep -q "^database  *cannot be written: "'
    lab exec chmod 755 /var/lib/taut
    wait_until 60 eval '! lab exec taut status | grep -q "cannot be written"'
    lab daemon stop tautd
    start_tautd
}

# ---------------------------------------------------------------- administrators

@test "an administrator's drain is left alone, and taut resume refuses" {
    lab exec taut policy observe
    lab degrade n3/tx 25
    find_state "scene_is_state n3/tx slow"
    lab exec scontrol update nodename=n3 state=drain reason="bad memory"
    lab exec taut policy drain
    wait_until 20 says tautd 'n3 .*but it is drained already: bad memory'
    sleep 5
    [ "$(full_reason n3)" = "bad memory" ]
    run lab exec taut resume n3
    [ "$status" -eq 1 ]
    [[ $output == "taut: "* ]]
    [ "$(full_reason n3)" = "bad memory" ]

    # given back by the administrator it is on probation, not drained at once
    lab exec scontrol update nodename=n3 state=resume
    wait_until 20 says tautd 'n3 was resumed by an administrator'
    lab exec taut nodes | grep -q '^n3 .*on probation'
    # ours, once it is found again; then theirs again
    find_drained n3
    [[ $(full_reason n3) == taut:* ]]
    lab exec scontrol update nodename=n3 reason="cable ordered"
    wait_until 60 says tautd 'n3: an administrator changed the drain reason'
    run lab exec taut resume n3
    [ "$status" -eq 1 ]
    [ "$(full_reason n3)" = "cable ordered" ]
    [ "$(status 'print(#s.drained)')" = 0 ]
}

# ---------------------------------------------------------------- refused

@test "HELLOs of ordinary users are refused and counted" {
    local before
    sleep 1.1 # refusals are logged once a second
    before=$(refused)
    lab exec --user alice --node n1 "$TAUT_PREFIX/libexec/taut/taut-probe" prolog \
        --servers ctl --user slurm --job 77 --node n1 --nodes 'n[1-2]' \
        --interface hsn0 --rundir /tmp >"$BATS_TEST_TMPDIR/out" || true
    grep -q 'no plan: .* refused this node: prolog by uid' "$BATS_TEST_TMPDIR/out"
    wait_until 10 is_refused $((before + 1))
    wait_until 5 one_line tautd 'refused a message from 172\.30\.[0-9.]+:[0-9]+: prolog by uid [0-9]+, only root may'
    run lab exec taut explain --job 77
    [ "$status" -eq 1 ]
    run lab exec taut status
    [[ $output =~ refused\ +[1-9][0-9]*\ message ]]
}

# frame TYPE PAYLOAD: send one frame from node n1, from a file
send_frame() {
    lab exec --node n1 bash -c 'exec 9<>/dev/tcp/ctl/6824
        text=$(cat); length=$((${#text} + 1))
        printf "$(printf "\\\\x%02x" $((length >> 24)) $((length >> 16 & 255)) \
            $((length >> 8 & 255)) $((length & 255)) "$1")" >&9
        printf %s "$text" >&9
        timeout 5 cat <&9 | wc -c' _ "$1"
}

# ports_of_n1 FIRST-USER LOW HIGH: which ports are users', and which are called from
ports_of_n1() {
    lab exec --node n1 bash -c 'cd /proc/sys/net/ipv4 &&
        echo 512 >ip_unprivileged_port_start && echo "$2 $3" >ip_local_port_range &&
        echo "$1" >ip_unprivileged_port_start' _ "$@"
}

# capture: a root probe's HELLO, that never came to tautd
capture() {
    lab exec install -m 644 /dev/stdin /etc/taut/capture.lua <<'END'
local loop = require "taut.loop"
assert(loop.listen { host = "172.30.0.1", port = 6999, max_frame = 1 << 20,
   on_frame = function(_, _, payload)
      io.open(arg[1], "w"):write(payload):close()
      loop.stop()
   end })
loop.run()
END
    lab exec timeout 30 taut --lua /etc/taut/capture.lua /var/spool/captured &
    local listener=$!
    wait_until 10 eval 'lab exec ss -Hltn "sport = :6999" | grep -q .'
    lab exec --node n1 "$TAUT_PREFIX/libexec/taut/taut-probe" prolog \
        --servers ctl:6999 --user slurm --job 78 --node n1 --nodes n1 \
        --interface hsn0 --rundir /run/other || true
    wait $listener
}

@test "forged and replayed HELLOs are refused and counted" {
    local before answer
    before=$(refused)
    # a credential nobody made
    answer=$(send_frame 1 <<<"MUNGE:AwQFAAABuW1hZGUgdXA=:")
    [ "$answer" -eq 0 ]
    wait_until 10 is_refused $((before + 1))
    # one for another user
    answer=$(lab exec munge -s '{}' -u alice | send_frame 1)
    [ "$answer" -eq 0 ]
    wait_until 10 is_refused $((before + 2))
    # frames out of order, and of no type
    answer=$(send_frame 3 <<<"a RESULT")
    answer=$(send_frame 9 <<<"nothing")
    wait_until 10 is_refused $((before + 4))
    # a real one, late but good for one time only
    capture
    ports_of_n1 512 665 1023 # as taut-probe does
    [ "$(lab exec cat /var/spool/captured | send_frame 1)" -gt 0 ]
    ports_of_n1 1024 32768 60999
    sleep 1.1 # refusals are logged once a second
    before=$(refused) # an idle check of n1 may have named one of these ports as its own
    [ "$(lab exec cat /var/spool/captured | send_frame 1)" -eq 0 ]
    wait_until 10 is_refused $((before + 1))
    wait_until 5 one_line tautd 'refused a message from .*[Rr]eplayed'
    unharmed
}

@test "a stream without its token is refused and counted" {
    local before
    before=$(status 'print(s.refused_streams)')
    # somebody on n0 tries each port that its probe listens on, as soon as it does: in bash alone,
    # since programs that start take longer than a check where others run, too
    lab exec --node n0 timeout 300 bash -c '
        trap "" PIPE
        me=$(ip -4 -o address show hsn0 | sed "s/.*inet \([0-9.]*\).*/\1/")
        IFS=. read -r a b c d <<<"$me"
        printf -v hex "%02X%02X%02X%02X" $d $c $b $a
        exec 8<> <(:)
        while :; do
            while read -r _ at _ state _; do
                [ "$state" = 0A ] && [ "${at%:*}" = "$hex" ] || continue
                { printf 0123456789abcdef >&9 && read -rt 0.2 -u 9 _; } \
                    9<>"/dev/tcp/$me/$((16#${at#*:}))"
            done </proc/net/tcp
            read -rt 0.01 -u 8 _
        done' 2>/dev/null &
    local stranger=$! i
    for i in {1..120}; do # where others run he is late more often than not
        job -N 2 -w n[0-1]
        [ "$(status 'print(s.refused_streams)')" -eq "$before" ] || break
    done
    kill $stranger
    [ "$(status 'print(s.refused_streams)')" -gt "$before" ]
    says tautd 'job [0-9]+: streams without a token of the plan were refused: [1-9]'
    run lab exec taut status
    [[ $output =~ refused\ .*[1-9][0-9]*\ streams?\ that\ no\ plan\ asked\ for ]]
    unharmed
}

# ---------------------------------------------------------------- Slurm's settings

@test "PrologFlags without Alloc: one hint in the log and in status, no delay" {
    lab daemon stop tautd # which might see it before it is restarted, and say so, too
    lab exec sed -i '/^PrologFlags=/d' /etc/slurm/slurm.conf
    lab exec scontrol reconfigure
    lab daemon start tautd
    clear_holdoff
    wait_until 10 says tautd 'PrologFlags lacks Alloc'
    run lab exec taut status
    [[ $output == *"hint        PrologFlags lacks Alloc: "*"set PrologFlags=Alloc,DeferBatch"* ]]
    job -N 4
    wait_until 10 explain_says 'on 4 nodes: not checked: PrologFlags without Alloc'
    job -N 2
    one_line tautd 'PrologFlags lacks Alloc'
    one_line nodes 'PrologFlags lacks Alloc'
    unharmed
    as_made
    lab daemon restart tautd
    settled
    job -N 2
    wait_until 10 explain_says 'on 2 nodes: 2 heard from, [1-9][0-9]* tests'
    ! lab exec taut status | grep -q '^hint'
}

@test "users may ask but not change; PrivateData=jobs hides others' jobs" {
    local command
    JOB=$(lab exec --user alice srun -Q --exclusive -N 2 printenv SLURM_JOB_ID | head -n 1)
    lab exec --user bob taut status >/dev/null
    lab exec --user bob taut explain n1 >/dev/null
    lab exec --user bob taut explain --job "$JOB" >/dev/null
    for command in off on 'policy drain' 'policy observe' 'resume n1' 'config reload'; do
        # shellcheck disable=SC2086
        run lab exec --user bob taut $command
        [ "$status" -eq 1 ]
        [ "$output" = "taut: only root and SlurmUser may do this, you are bob" ]
    done
    lab exec setpriv --reuid slurm --regid slurm --init-groups taut on

    slurm_conf_lines PrivateData=jobs
    lab daemon restart tautd
    clear_holdoff
    hidden() { ! lab exec --user bob taut explain --job "$JOB" 2>/dev/null; }
    wait_until 20 hidden
    run lab exec --user bob taut explain --job "$JOB"
    [ "$status" -eq 1 ]
    [ "$output" = "taut: job $JOB is not yours, and PrivateData=jobs is set" ]
    lab exec --user alice taut explain --job "$JOB" | grep -q "prolog of job $JOB"
    lab exec taut explain --job "$JOB" >/dev/null
    # the node's tests are shown, whose job they were is not
    [ "$(lab exec --user bob taut explain n0 --json |
        lab_json 'local n = 0 for _, t in ipairs(d.tests) do n = n + (t.job and 1 or 0) end print(#d.tests > 0, n)')" = $'true\t0' ]
    as_made
    lab daemon restart tautd
}

@test "Prolog= and Epilog= scripts in the place of SPANK" {
    lab exec bash -c ': >/etc/slurm/plugstack.conf'
    slurm_conf_lines "Prolog=$TAUT_PREFIX/libexec/taut/taut-prolog.sh" \
        "Epilog=$TAUT_PREFIX/libexec/taut/taut-epilog.sh"
    # on a busy machine one of the four may come after the others have begun
    all_four() { job -N 4 && wait_until 10 explain_says 'on 4 nodes: 4 heard from, [1-9][0-9]* tests'; }
    wait_until 60 all_four
    wait_until 20 explain_says '^n[0-9]+ +hsn0 '
    lab daemon stop tautd
    clear_holdoff
    job -N 2
    nothing_drained
}
