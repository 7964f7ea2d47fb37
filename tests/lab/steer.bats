#!/usr/bin/env bats
# time limit: 600 s
# SPDX-License-Identifier: GPL-2.0-or-later
# Steering with a real slurmctld and its job_submit/lua: heavy jobs are kept
# from a slow link; whatever slurmctld would refuse is left as it was.

load lib/tests.bash

SLOW=r1.0.0/X+
EXPOSED='n[0-1,8-9]'
ADVICE=/run/taut/advice
SCRIPT=/etc/slurm/job_submit.lua

setup_file() {
    can_have_lab || return 0
    sed -e 's/^mode = .*/mode = "observe"/' -e 's/^refresh_s = .*/refresh_s = 1/' \
        "$SCENE_DIR/demo.lua" >"$BATS_FILE_TMPDIR/steer.lua"
    echo 'steer = { mode = "on", most_excluded = 0.3, switch_wait_s = 30 }' \
        >>"$BATS_FILE_TMPDIR/steer.lua"
    lab_file steer lab up --torus 4x2x2 --node-cpus 1 --health-interval 3600 \
        --taut "$TAUT_PREFIX" --taut-conf "$BATS_FILE_TMPDIR/steer.lua" \
        --job-submit "$SCENE_DIR/../../etc/job_submit.lua" \
        --slurm-conf 'PartitionName=small Nodes=n[0-7] State=UP'
    make_slow
}
teardown_file() { lab_file_end; }
setup() { lab_test; }
teardown() {
    lab_report
    [ -n "$LAB_MISSING" ] || { cancel_all && resume_all; } || true
}

make_slow() {
    lab degrade $SLOW 25
    lab exec taut audit --all >/dev/null || true
    # it takes spells of 10 s, however quick the jobs are
    wait_until 120 slow_after_a_job || {
        lab exec taut explain $SLOW
        return 1
    }
    wait_until 10 advised "$EXPOSED"
    wait_until 30 all_idle # tests say where jobs start
}

slow_after_a_job() {
    clear_holdoff # a busy machine begins one, and then nothing is tested for a minute
    lab exec srun -Q -N8 -w 'n[8-11,16-19]' true
    scene_is_state $SLOW slow
}

# advised LIST: the file in force excludes it in partition batch
advised() { lab exec grep -qxF "exclude batch 1 28 $1" $ADVICE; }

# batch OPTION…: a job of alice's with --comm that waits (slurmctld does look
# whether it could ever run, which it leaves out for a held one); prints its id
LATER=--begin=now+1hour
batch() {
    lab exec --user alice sbatch --parsable $LATER --comm=halo3d -o /dev/null "$@" \
        --wrap 'srun true'
}

# field ID NAME: of scontrol show job; "(null)" or nothing for none
field() { lab exec scontrol show job "$1" | grep -oP "(?<![A-Za-z])$2=\K.*?(?= [A-Z][A-Za-z:]*=|\$)" | sed 's/ *$//' | head -n 1; }

unchanged() {
    [ "$(field "$1" ExcNodeList)" = "${2:-(null)}" ] && [ -z "$(field "$1" AdminComment)" ]
}
excludes() { [ "$(field "$1" ExcNodeList)" = "$2" ]; }

reason_is() { [ "$(lab exec squeue -h -j "$1" -o %r)" = "$2" ]; }
is_over() { [ -z "$(lab exec squeue -h -j "$1")" ]; }

# put_advice: standard input becomes the file, the way tautd does it
put_advice() { lab exec bash -c "cat >$ADVICE.x && chown slurm $ADVICE.x && mv $ADVICE.x $ADVICE"; }

# nodes_of OPTION…: where alice's job runs
nodes_of() {
    lab exec --user alice srun -Q "$@" bash -c '[ $SLURM_PROCID != 0 ] || echo $SLURM_JOB_NODELIST'
}

# runs_on LIST OPTION…: that is where alice's job runs, on an idle machine
runs_on() {
    local got
    wait_until 30 all_idle
    got=$(nodes_of "${@:2}")
    [ "$got" = "$1" ] || {
        echo "it ran on '$got', not on $1"
        return 1
    }
}

# is_clear LIST: of the nodes of the slow link
is_clear() { [ -n "$1" ] && ! lab exec scontrol show hostnames "$1" | grep -Eqx 'n[0189]'; }

steer_says() { lab exec taut steer | grep -Eq -- "$1"; }

reload() {
    conf_of "$BATS_FILE_TMPDIR/steer.lua" "$@"
    lab exec taut config reload >/dev/null
}

@test "a heavy job is kept from the nodes of a slow link, another one is not" {
    local id
    runs_on 'n[0-3]' -N 4
    is_clear "$(nodes_of -N 4 --comm=all-to-all)"
    is_clear "$(nodes_of -n 8 --comm=halo3d:bytes=1M,compute=0.3)"
    id=$(batch -N 4)
    excludes "$id" "$EXPOSED"
    [ "$(field "$id" AdminComment)" = "taut: comm=halo3d excluded=$EXPOSED" ]
    lab exec taut steer | grep -q "^avoided  $SLOW at [23][0-9]%, 4 nodes exposed"
    wait_until 5 steer_says "^ +$id  alice  wrap  +4  halo3d  +BeginTime  4 nodes excluded"
}

@test "an allocation and an array are steered too; a name that is no pattern is said" {
    local id
    is_clear "$(lab exec --user alice salloc -Q -N 2 --comm=ring bash -c 'echo $SLURM_JOB_NODELIST')"
    id=$(batch -N 2 --array=1-3)
    excludes "$id" "$EXPOSED"
    lab exec --user alice srun --comm=nosuch -N 2 true >"$BATS_TEST_TMPDIR/said" 2>&1
    grep -q 'taut: --comm: no such pattern; known: all-reduce-rd ' "$BATS_TEST_TMPDIR/said"
    lab exec --user alice srun --comm='no such' -N 2 true >"$BATS_TEST_TMPDIR/said" 2>&1
    grep -q 'srun: taut: --comm=no such: expected a pattern' "$BATS_TEST_TMPDIR/said"
}

# Plain Slurm refuses each of these with the excludes.
refused() { ! lab exec --user alice sbatch $LATER -o /dev/null "$@" --wrap true >/dev/null 2>&1; }

@test "slurmctld refuses what must not be given to it" {
    refused -N 2 -w 'n[0-1]' -x "$EXPOSED"
    refused -N 29 -x "$EXPOSED"
    refused -p small -N 7 -x 'n[0-1]'
    refused -N 2 -x n99
}

@test "jobs that name nodes are accepted as they are" {
    local id hosts=/tmp/hosts.$LAB_NAME
    unchanged "$(batch -N 2 -w 'n[0-1]')"
    unchanged "$(batch -N 4 -w n8)"
    unchanged "$(batch -N 2 -x n5)" n5
    lab exec bash -c "printf '%s\\n' n0 n9 n0 >$hosts"
    unchanged "$(batch -N 2 -n 3 --overcommit -m arbitrary -w "$hosts")"
    unchanged "$(batch -N 2 -m arbitrary -w 'n[8-9]')"
    id=$(lab exec --user alice env SLURM_HOSTFILE="$hosts" sbatch --parsable $LATER \
        --comm=ring -o /dev/null --overcommit --wrap true)
    lab exec rm "$hosts"
    unchanged "$id"
}

@test "jobs that would not fit, or only nodes of a kind, are accepted as they are" {
    local id
    for id in $(batch -N 30) $(batch -N 32) $(batch -p small -N 8) $(batch -p batch,small -N 8) \
        $(batch -n 32) $(batch -N 2 --mem-per-cpu=100) $(batch -N 2 --contiguous) \
        $(batch -N 1) $(batch -N 2-32); do
        unchanged "$id"
    done
    # those fit, but not with the nodes of the slow link gone
    for id in $(batch -N 26) $(batch -p small -N 6); do
        excludes "$id" '(null)'
        [ "$(field "$id" AdminComment)" = "taut: comm=halo3d" ]
    done
    excludes "$(batch -N 25)" "$EXPOSED"
    excludes "$(batch -p small -N 5)" 'n[0-1]'
    excludes "$(batch -p small,batch -N 4)" "$EXPOSED"
    id=$(batch -N 2 : -N 2)
    unchanged "$id"
}

@test "a job in a reservation is accepted as it is" {
    lab exec scontrol create reservation reservationname=r users=alice nodes='n[0-3]' \
        starttime=now duration=10 >/dev/null
    unchanged "$(batch -N 4 --reservation=r)"
    cancel_all
    lab exec scontrol delete reservationname=r
}

@test "a stale, half-written, hostile or absent file changes no job" {
    local whole now n
    lab daemon pause tautd
    whole=$(lab exec cat $ADVICE)
    now=$(sed -n '1s/.* //p' <<<"$whole")
    excludes "$(batch -N 4)" "$EXPOSED"
    sed "1s/ $now\$/ $((now - 700))/" <<<"$whole" | put_advice
    unchanged "$(batch -N 4)"
    for n in 0 1 60 250; do
        head -c $((n < ${#whole} ? n : ${#whole} - 1)) <<<"$whole" | put_advice
        unchanged "$(batch -N 4)"
    done
    lab exec rm $ADVICE
    unchanged "$(batch -N 4)"
    lab exec mkdir $ADVICE
    unchanged "$(batch -N 4)"
    lab exec rmdir $ADVICE
    head -c 3000000 /dev/urandom | put_advice
    unchanged "$(batch -N 4)"
    hostile 'n[0-1,99]' | put_advice
    [ "$(field "$(batch -N 4)" ExcNodeList)" = '(null)' ]
    hostile 'n[0-1];reboot' | put_advice
    unchanged "$(batch -N 4)"
    hostile 'n[0-1]' | put_advice
    excludes "$(batch -N 4)" 'n[0-1]'
    lab daemon resume tautd
    wait_until 10 advised "$EXPOSED"
}

# hostile LIST: a file that is whole and of now, and excludes LIST
hostile() {
    local body
    body="taut-advice 1 7777$RANDOM $(date +%s)
patterns halo3d
part batch 32 1 1 n[0-31]
exclude batch 1 28 $1
"
    printf '%send %s %s\n' "$body" "$(sed -n '1s/taut-advice 1 \([0-9]*\) .*/\1/p' <<<"$body")" ${#body}
}

@test "a node that slurmctld no longer knows is not named to it" {
    lab daemon pause tautd
    lab exec sed -i -e '/^NodeName=n9 /d' -e 's/^\(PartitionName=batch Nodes=\)n\[0-31\]/\1n[0-8,10-31]/' \
        /etc/slurm/slurm.conf
    lab daemon restart slurmctld
    wait_until 20 eval 'lab exec scontrol ping | grep -q UP'
    refused -N 4 -x "$EXPOSED"
    advised "$EXPOSED"
    unchanged "$(batch -N 4)"
    lab daemon resume tautd
    wait_until 20 eval 'excludes "$(batch -N 4)" "n[0-1,8]"'
    lab exec bash -c 'echo "NodeName=n9 NodeHostname=n9 NodeAddr=$(getent hosts n9 | cut -d" " -f1) CPUs=1 RealMemory=1000 State=UNKNOWN" >>/etc/slurm/slurm.conf
        sed -i "s/^\(PartitionName=batch Nodes=\)[^ ]*/\1n[0-31]/" /etc/slurm/slurm.conf'
    cancel_all
    lab daemon restart slurmctld
    wait_until 20 advised "$EXPOSED"
    wait_until 30 all_idle
}

@test "tautd is dead: jobs run" {
    local id
    lab exec bash -c 'kill -9 $(pgrep -o -x tautd)'
    is_clear "$(nodes_of -N 4 --comm=ring)"
    lab exec sed -i '1s/ [0-9]*$/ 1000/' $ADVICE
    excludes "$(batch -N 4)" '(null)'
    lab daemon stop tautd || true
    start_tautd
    wait_until 20 advised "$EXPOSED"
}

@test "a broken script, and a site's own that includes ours" {
    local id
    lab exec bash -c "cp $SCRIPT /tmp/taut.$LAB_NAME.lua
        cat >$SCRIPT" <<EOF
function slurm_job_submit(job_desc, part_list, submit_uid)
   if job_desc.name == "forbidden" then
      slurm.log_user("not here")
      return slurm.ERROR
   end
   job_desc.comment = "site was here"
   return taut.submit(job_desc, part_list, submit_uid)
end
function slurm_job_modify()
   return slurm.SUCCESS
end
taut = dofile "/tmp/taut.$LAB_NAME.lua"
EOF
    id=$(batch -N 4)
    excludes "$id" "$EXPOSED"
    [ "$(field "$id" Comment)" = "site was here" ]
    run batch -N 4 -J forbidden
    [ "$status" -ne 0 ]
    lab exec bash -c "mv /tmp/taut.$LAB_NAME.lua $SCRIPT"
    excludes "$(batch -N 4)" "$EXPOSED"
}

# slurm.conf is what tautd asks about first, and then now and then
restart_both() {
    lab daemon restart slurmctld
    wait_until 20 eval 'lab exec scontrol ping | grep -q UP'
    lab daemon stop tautd
    start_tautd
}

@test "on a tree, jobs wait a bounded time for few switches" {
    local id
    lab exec bash -c 'for s in 0 1 2 3; do
            echo "SwitchName=s$s Nodes=n[$((8 * s))-$((8 * s + 7))]"
        done >/etc/slurm/topology.conf
        echo "SwitchName=top Switches=s[0-3]" >>/etc/slurm/topology.conf
        echo "TopologyPlugin=topology/tree" >>/etc/slurm/slurm.conf'
    restart_both
    wait_until 30 lab exec grep -qx 'switches 8 30' $ADVICE
    id=$(batch -N 5)
    [ "$(field "$id" Switches)" = '1@00:00:30' ]
    [ "$(field "$(batch -N 12)" Switches)" = '2@00:00:30' ]
    [ "$(field "$(batch -N 5 --switches=3@1)" Switches)" = '3@00:01:00' ]
    runs_on 'n[16-22]' -N 7 --comm=ring
    cancel_all
    lab exec bash -c 'rm /etc/slurm/topology.conf; sed -i /TopologyPlugin/d /etc/slurm/slurm.conf'
    restart_both
    wait_until 30 eval 'advised "$EXPOSED" && ! lab exec grep -q "^switches" $ADVICE'
    wait_until 30 all_idle
}

# scheduling SECONDS: the scheduler looks so often; with 600, a job waits at the
# head of the queue while nodes are free
scheduling() {
    lab exec sed -i "s/^SchedulerParameters=.*/SchedulerParameters=defer,batch_sched_delay=$1,sched_interval=$1,bf_interval=$1/" \
        /etc/slurm/slurm.conf
    lab exec scontrol reconfigure
}

# place: sets id to a job that was placed and waits; slurmctld takes its new
# parameters a moment later, and may start what comes before
place() {
    local i
    for i in 1 2 3 4; do
        id=$(lab exec --user alice sbatch --parsable --comm=all-to-all -N 4 -o /dev/null \
            --wrap 'srun sleep 1')
        wait_until 20 eval 'placed "$id" || ! is_pending "$id"'
        ! is_pending "$id" || return 0
        wait_until 20 is_over "$id"
    done
    return 1
}
is_pending() { [ "$(lab exec squeue -h -j "$1" -o %t)" = PD ]; }
placed() { field "$1" AdminComment | grep -q ' placed='; }
tried() { field "$1" AdminComment | grep -q ' tried='; }

@test "the head of the queue is placed, and taken back when it cannot start" {
    local id
    reload 's/^steer = {/& exclude = false, place = true, place_wait_s = 20, look_s = 1,/'
    # free are only pairs of nodes; Slurm would take the first two, n8 and n9
    # before the slow link, n16 and n17 behind it
    lab exec srun -Q -N 24 -w 'n[0-7,10-15,18-19,22-23,26-31]' sleep 60 &
    wait_until 20 eval '[ "$(lab exec sinfo -h -t idle -o %D -p batch)" = 8 ]'
    scheduling 600
    place
    field "$id" AdminComment | grep -Eq '^taut: comm=all-to-all placed=[0-9]+:n\[[0-9,-]+\]$'
    ! field "$id" ReqNodeList | grep -Eqw 'n\[8-9.*|n8|n9' || false
    scheduling 1
    wait_until 20 is_over "$id"
    # another one loses a node before it starts
    scheduling 600
    place
    lab exec scontrol update nodename="$(field "$id" ReqNodeList)" state=drain reason=test
    wait_until 20 tried "$id"
    [ "$(field "$id" ReqNodeList)" = '(null)' ]
    resume_all
    scheduling 1
    wait_until 30 is_over "$id"
    [ "$(field "$id" JobState)" = COMPLETED ]
    cancel_all
    reload
    wait_until 10 advised "$EXPOSED"
    wait_until 30 all_idle
}

@test "cells are features of nodes that small jobs prefer" {
    local id
    reload 's/^steer = {/& prefer_nodes = 4,/'
    wait_until 10 eval 'lab log tautd --stderr | grep -q "prefer_nodes needs ignore_prefer_validation"'
    [ -z "$(lab exec sinfo -h -o %f | grep taut_cell)" ]
    lab exec sed -i 's/^SchedulerParameters=.*/&,ignore_prefer_validation/' /etc/slurm/slurm.conf
    lab exec scontrol reconfigure
    wait_until 60 lab exec grep -q '^prefer 4 \[taut_cell_0|' $ADVICE
    id=$(batch -N 4)
    field "$id" Prefer | grep -q '^\[taut_cell_0|taut_cell_1|'
    # features are gone, and the file does not know it yet
    lab daemon pause tautd
    lab exec scontrol update nodename='n[0-31]' features= activefeatures=
    unchanged_but_preferred "$(batch -N 4)"
    lab daemon resume tautd
    cancel_all
    reload
    wait_until 10 eval '! lab exec grep -q "^prefer " $ADVICE' # the features are gone before
    wait_until 30 eval '! lab exec sinfo -h -o %f | grep -q taut_cell'
}
unchanged_but_preferred() { field "$1" AdminComment | grep -q 'preferred=1'; }

@test "what was done is in the report, and what jobs sent in their profiles" {
    local i
    for i in 1 2 3; do
        lab exec --user alice srun -Q -J cfd --comm=ring -N 4 sleep 1.2
    done
    wait_until 10 eval 'lab exec taut profile alice | grep -Eq "^alice +cfd +3 "'
    lab exec taut steer --report --since 1h --json
    lab exec taut steer --report --since 1h --json | lab_json '
        for _, p in ipairs(d.programs) do
            if p.name == "cfd" then print(p.jobs, p.did["4 nodes excluded"], p.added_s < 5) end
        end' | grep -qx $'3\t3\ttrue'
    lab exec taut steer --report | grep -Eq '^alice +cfd +4  ring '
    ! lab exec --user alice taut steer off
}

@test "excludes are withdrawn once the link is well, and all of them when steering is off" {
    local id other mine i
    id=$(batch -N 4)
    mine=$(batch -N 4)
    lab exec --user alice scontrol update jobid="$mine" excnodelist=n0,n1,n7
    lab exec taut steer off
    lab exec test ! -e $ADVICE
    wait_until 10 excludes "$id" '(null)'
    unchanged "$(batch -N 4)"
    lab exec taut steer on >/dev/null
    wait_until 10 advised "$EXPOSED"
    other=$(batch -N 4)
    excludes "$other" "$EXPOSED"
    lab heal $SLOW
    for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
        clear_holdoff
        lab exec srun -Q -N8 -w 'n[8-11,16-19]' true
        ! scene_is_state $SLOW ok || break
    done
    wait_until 10 excludes "$other" '(null)'
    [ "$(field "$other" AdminComment)" = "taut: comm=halo3d" ]
    # whoever changed the list has the last word
    excludes "$mine" 'n0,n1,n7'
    runs_on 'n[0-3]' -N 4 --comm=ring
}
