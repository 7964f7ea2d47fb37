#!/usr/bin/env bats
# time limit: 900 s
# SPDX-License-Identifier: GPL-2.0-or-later
# The `taut` command on hosts without tautd: who may ask what, and what a flood of it does.

SCENE_DIR=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
load ../lib/tests.bash

setup_file() {
    can_have_lab || return 0
    small_conf "$BATS_FILE_TMPDIR/small.lua"
    cat >>"$BATS_FILE_TMPDIR/small.lua" <<'EOF'
remote = { admins = "n2,n7", per_minute = 600 }
survey = { all = { "bob" } }
EOF
    lab_file remote lab up --torus 2x2x1 --node-cpus 2 --health-interval 0 \
        --slurm-conf PrivateData=jobs --taut "$TAUT_PREFIX" \
        --taut-conf "$BATS_FILE_TMPDIR/small.lua"
}
teardown_file() { lab_file_end; }
setup() {
    lab_test
    mark
}
teardown() { [ -n "$LAB_MISSING" ] || lab_report; }

on_n1() { lab exec --node n1 "$@"; }
as_alice() { lab exec --user alice --node n1 "$@"; }
@test "remote: a user is told what the controller tells" {
    local cmd
    for cmd in "links -a" "nodes" "topology classes"; do
        [ "$(as_alice taut $cmd)" = "$(lab exec taut $cmd)" ]
    done
    run as_alice taut status
    [[ $output == *"mode        drain"*"components "* ]]
    run as_alice taut explain r0.0.0/X+
    [[ $output == "r0.0.0/X+ is "* ]]
    # the first jobs' ends are known a moment later
    advised() { as_alice taut advise -N 2 2>&1 | grep -q 'sbatch -N 2 --nodelist='; }
    wait_until 20 advised
    [ "$(as_alice taut nodes --json | lab_json 'print(#d.nodes)')" = 8 ]
    run as_alice taut --server 172.30.0.1:6824 links
    [ "$status" -eq 0 ]
    run as_alice env TAUT_SERVER=ctl taut links
    [ "$status" -eq 0 ]
}

@test "remote: a host without taut.lua has the machine from tautd" {
    local here
    here=$(lab exec taut map 'n[0-5]' --pattern halo3d26)
    run lab exec --node n1 unshare -m bash -c 'mount -t tmpfs none /etc/taut
        chmod 755 /etc/taut; echo servers=ctl >/etc/taut/node.conf
        exec taut map "n[0-5]" --pattern halo3d26'
    [ "$status" -eq 0 ]
    [ "$output" = "$here" ]
}

@test "remote: whoever is nobody here changes nothing" {
    run as_alice taut off
    [ "$status" -eq 1 ]
    [[ $output == *"only root and SlurmUser may do this, you are alice@172.30.1.2"* ]]
    run on_n1 taut off
    [ "$status" -eq 1 ]
    [[ $output == *"from hosts in remote.admins"*"root@172.30.1.2"* ]]
    run lab exec --user alice --node n2 taut policy observe
    [ "$status" -eq 1 ]
    [ "$(status 'print(s.mode, s.switch)')" = $'enable\ton' ]
}

@test "remote: an administrator on a host of the site does, by name" {
    lab exec --node n2 taut off
    [ "$(status 'print(s.switch)')" = off ]
    lab exec --node n7 taut on
    # a user there could have a credential of root's or SlurmUser's, but no such port
    run lab exec --node n2 setpriv --reuid slurm --clear-groups taut off
    [[ $status -eq 1 && $output == *"slurm@172.30.1.3, from port "*", which any user has"* ]]
    lab exec --node n2 taut verify n1/tx
    run lab exec --node n2 taut verify n1/tx --json
    [[ $output == *'"marked_by": "root@172.30.1.3"'* ]]
}

@test "remote: PrivateData=jobs" {
    local id
    id=$(lab exec --user alice srun -Q --exclusive -N 2 bash -c 'echo $SLURM_JOB_ID' | head -n 1)
    wait_until 20 eval 'as_alice taut explain --job "'"$id"'" >/dev/null'
    lab exec --node n2 taut explain --job "$id"
    run lab exec --user bob --node n1 taut explain --job "$id"
    [[ $status -eq 1 && $output == *"is not yours, and PrivateData=jobs is set"* ]]
    # nor is it root's of any node
    run on_n1 taut explain --job "$id"
    [[ $status -eq 1 && $output == *"is not yours"* ]]
}

@test "remote: a member of admin_group sees own jobs from elsewhere, others' on tautd's host" {
    local own others
    own=$(lab exec --user alice srun -Q --exclusive -N 2 bash -c 'echo $SLURM_JOB_ID' | head -n 1)
    others=$(lab exec --user bob srun -Q --exclusive -N 2 bash -c 'echo $SLURM_JOB_ID' | head -n 1)
    lab exec bash -c 'cp /etc/taut/taut.lua /var/spool/before.lua
        echo "admin_group = \"alice\"" >>/etc/taut/taut.lua; taut config reload'
    wait_until 20 eval 'lab exec --user alice taut explain --job "'"$others"'" >/dev/null'
    as_alice taut explain --job "$own"
    run as_alice taut explain --job "$others"
    [[ $status -eq 1 && $output == *"is not yours, and PrivateData=jobs is set"* ]]
    run as_alice taut off
    [[ $status -eq 1 && $output == *"only root may do this, from hosts in remote.admins"* ]]
    lab exec bash -c 'cp /var/spool/before.lua /etc/taut/taut.lua; taut config reload'
    run lab exec --user alice taut explain --job "$others"
    [[ $status -eq 1 && $output == *"is not yours"* ]]
}

@test "remote: who may have all idle nodes for a survey" {
    run as_alice taut audit --all
    [[ $status -eq 1 && $output == *"survey.all"* ]]
    run lab exec --user alice taut matrix --all
    [[ $status -eq 1 && $output == *"survey.all"* ]]
    lab exec --user bob --node n1 taut audit --all --solo --time 5 --json |
        lab_json 'assert(#d.results > 0)'
}

@test "doctor: a lab is almost well, on a login node, too" {
    lab exec --user alice srun -Q --exclusive -N 8 true
    run lab exec --node n2 taut doctor --all
    [ "$status" -eq 3 ]
    [[ $output == *"ok    PrologFlags"*"8 of 8 usable nodes were heard in a job"* ]]
    [[ $output == *"within 5 s of tautd's host"*"the 8 nodes are the same as in Slurm"* ]]
    # --health-interval 0: that is what has to be mended
    [[ $output == *"MEND  health check  HealthCheckInterval is 0"*"mend: HealthCheckInterval="* ]]
    run as_alice taut doctor --json
    [ "$status" -eq 3 ]
    [ "$(lab_json 'print(d.facts.nodes.usable, #d.findings > 8)' <<<"$output")" = $'8\ttrue' ]
}

# on the node itself, by what its probe reads there; and on the host that asks
@test "doctor: hosts where users have root's ports are named" {
    local name=net.ipv4.ip_unprivileged_port_start
    lab exec --node n5 sysctl -qw $name=80
    lab exec --user alice srun -Q --exclusive -N 8 true
    run as_alice taut doctor
    [[ $output == *"MEND  ports "*"below 1024 on 1 node: n5"*"mend: sysctl -w $name=1024"* ]]
    lab exec --node n5 sysctl -qw $name=1024
    lab exec --user alice srun -Q --exclusive -N 8 true
    run as_alice taut doctor
    [[ $output != *" ports "* ]]
}

@test "doctor: what may be wrong where nobody answers" {
    run as_alice taut --server ctl:99 doctor
    [ "$status" -eq 1 ]
    [[ $output == *"MEND  tautd"*"firewall"* ]]
}

@test "remote: who does not answer is named, and wrong words are status 2" {
    run as_alice taut --server ctl:99 status
    [ "$status" -eq 1 ]
    [[ $output == *"tautd does not answer at ctl port 99: "*"refused"* ]]
    run as_alice taut --server nowhere.invalid links --json
    [ "$status" -eq 1 ]
    [[ $output == *'"error": "tautd does not answer at nowhere.invalid port 6824: '* ]]
    run as_alice taut --server 'ctl;x' status
    [ "$status" -eq 2 ]
    run as_alice taut --socket /run/nothing status
    [[ $status -eq 1 && $output == *"servers= in /etc/taut/node.conf"* ]]
    # the second of two is asked where the first is away
    as_alice taut --server ctl:99,ctl links
}

@test "help: by what somebody wants, and of one command" {
    run as_alice taut help
    [[ $status -eq 0 && $output == *"Is all well?"*"taut advise -N 64"* ]]
    [ "$(as_alice taut help topology route)" = "$(as_alice taut topology route --help)" ]
    run as_alice taut help nonsense
    [ "$status" -eq 2 ]
}

@test "watch: looks again and again" {
    run as_alice taut watch --interval 1 --times 2
    [ "$status" -eq 0 ]
    [ "$(grep -c '^mode ' <<<"$output")" -eq 2 ]
    [[ $output == *"; since the last look 0 jobs, 0 tests, 0 low"* ]]
    # on a terminal of its own size, with a screen of its own that is given back
    run on_n1 script -qec "stty cols 60 rows 6; taut watch -n 1 --times 1" /dev/null
    [[ $output == *$'\e[?1049h'*"lines more: taut status"*$'\e[?1049l'* ]]
    run as_alice taut watch -n 0
    [ "$status" -eq 2 ]
    run as_alice taut --server ctl:99 watch --times 1
    [[ $status -eq 1 && $output == *"does not answer at ctl port 99"* ]]
}

@test "ack: known until a date, and after a restart" {
    run as_alice taut ack r0.0.0/X+ -t T-1 -u 2d
    [[ $status -eq 1 && $output == *"only root and SlurmUser"* ]]
    lab exec --node n2 taut ack r0.0.0/X+ --ticket T-1 --until 2d
    lab exec taut ack n1/tx -t T-2 -u "$(date -d '+3 days' +%Y-%m-%d)"
    run lab exec taut ack n1/tx -t T-2 -u 2020-01-01
    [[ $status -eq 2 && $output == *"after now"* ]]
    run lab exec taut ack n1/tx
    [ "$status" -eq 2 ]
    lab daemon restart tautd
    wait_until 30 eval 'lab exec taut ack | grep -q T-2'
    run as_alice taut ack
    [[ $output == *"n1/tx"*"T-2"*"r0.0.0/X+"*"T-1"*"root@172.30.1.3"* ]]
    run lab exec taut links -a
    [[ $output == *"known: T-1 until "* ]]
    run lab exec taut explain r0.0.0/X+
    [[ $output == *"known: T-1 until "*", by root@172.30.1.3"* ]]
    lab exec taut policy log | grep 'ticket T-1'
    lab exec taut ack r0.0.0/X+ --end
    lab exec taut repair n1/tx --done
    [ "$(lab exec taut ack)" = "nothing is acknowledged" ]
}

@test "remote: a credential serves once" {
    as_alice bash -s "$TAUT_PREFIX/sbin/tautd" "$SCENE_DIR/lib/asks.lua" <<'SH'
ask=$("$1" --lua "$2" 1)
once() {
    exec 3<>/dev/tcp/ctl/6824
    printf "$ask" >&3
    timeout 10 cat <&3 | wc -c
    exec 3>&-
}
[ "$(once)" -gt 100 ] && [ "$(once)" -eq 0 ]
SH
    wait_until 10 eval 'since tautd | grep -q "ASK: Replayed credential"'
}

@test "remote: a flood from a node of a user who hangs up at once" {
    as_alice bash -s "$TAUT_PREFIX/sbin/tautd" "$SCENE_DIR/lib/asks.lua" <<'SH'
mapfile -t asks < <("$1" --lua "$2" 300 idle_nodes)
for ask in "${asks[@]}"; do
    exec {fd}<>/dev/tcp/ctl/6824
    printf "$ask" >&$fd
    exec {fd}>&-
done
SH
    lab exec --user bob --node n3 taut links >/dev/null
    lab exec --node n2 taut status >/dev/null
    stands
    wait_until 10 eval 'since tautd | grep -q "172.30.1.2:.*ASK: too "'
}

@test "remote: a flood from a node of a user who never reads" {
    as_alice bash -s "$TAUT_PREFIX/sbin/tautd" "$SCENE_DIR/lib/asks.lua" \
        <<'SH' 3>&- &
"$1" --lua "$2" 60 | while read -r ask; do
    exec {fd}<>/dev/tcp/ctl/6824
    printf "$ask" >&$fd
done
for i in {1..100}; do
    taut advise -N 4 &
    [ $((i % 20)) != 0 ] || wait
done >/dev/null 2>&1
SH
    stands
    as_alice taut --server ctl status >/dev/null || true # he may be told to wait
    lab exec --node n2 taut status >/dev/null
    kill $! 2>/dev/null || true
    wait $! 2>/dev/null || true
}
