#!/usr/bin/env bats
# time limit: 900 s
# SPDX-License-Identifier: GPL-2.0-or-later
# The main job: a slow node and a slow link in a real Slurm cluster are found
# by the prologs of ordinary jobs.  The tests before "fresh" ones go on where
# the one before them ended.

load lib/tests.bash

setup_file() { ! can_have_lab || lab_file mainjob scene_up; }
setup() { lab_test; }
teardown_file() { lab_file_end; }
teardown() { lab_report; }

NODE=n5 LINK=r2.0.0/X+

both_found() { scene_is_drained $NODE && scene_is_state $LINK slow; }

# verdicts: "component state" a line
verdicts() { status 'for _, v in ipairs(s.verdicts) do print(v.component, v.state) end'; }
held() { status 'for _, v in ipairs(s.held) do print(v.node .. "|" .. v.why) end' | sort; }
ours() { status 'for _, v in ipairs(s.drained) do print(v.node) end' | sort; }

@test "main job: twenty healthy jobs leave no mark" {
    scene_jobs 20 1
    nothing_drained
    [ "$(status 'print(s.states.slow, s.states.failed)')" = $'0\t0' ]
    [ "$(status 'print(s.jobs_started >= 20 and s.jobs_heard >= 20)')" = true ]
    [ "$(status 'print(s.tests.good > 100)')" = true ]
}

@test "main job: the node behind the slow tx is drained, and no other" {
    lab degrade $NODE/tx 25
    lab degrade $LINK 25
    scene_find 100 120 both_found
    # what sinfo -R shows has 20 characters; the verdict is in them
    [[ $(shown_reason $NODE) =~ ^taut:\ sends\ at\ [0-9]+%\; ]] || {
        echo "sinfo -R shows: $(shown_reason $NODE)"
        false
    }
    [ "$(scene_drained | cut -d'|' -f1)" = $NODE ]
    local reason
    reason=$(full_reason $NODE)
    [[ $reason =~ ^taut:\ sends\ at\ (1[5-9]|2[0-9]|3[0-5])%\;\ +$NODE\ -\>\ n[0-9]+,\ .*\ MB/s,\ [0-9]+\ of\ [0-9]+\ tests ]] || {
        echo "$reason"
        false
    }
    [ ${#reason} -le 255 ]
}

@test "main job: the slow link is avoided, with the cable to repair" {
    run lab exec taut links
    [ "$status" -eq 0 ]
    [[ $output =~ r2\.0\.0/X\+\ +slow\ at\ (1[5-9]|2[0-9]|3[0-5])%\ +avoid\ .*repair\ r2\.0\.0/X\+\ to\ r3\.0\.0/X- ]]
    # nothing else is called slow: neither links nor nodes
    [ "$(verdicts | awk '$2 != "suspect" { print $1 }' | sort)" = "$(printf '%s\n' $NODE/tx $LINK | sort)" ]
}

@test "main job: explain shows every test behind the verdict" {
    run lab exec taut explain $LINK
    [ "$status" -eq 0 ]
    [[ $output == *"$LINK is slow"*"low tests with:"*"action: avoid"*"TIME"*" low "* ]]
    run lab exec taut explain $NODE
    [ "$status" -eq 0 ]
    [[ $output == *"$NODE in Slurm: "*", drained: taut: sends at "*" drain "*"$NODE by taut: "* ]]
}

@test "main job: advise avoids both, and a job runs there" {
    local nodes
    wait_until 60 no_jobs
    wait_until 20 eval '[ "$(lab exec sinfo -h -N -o %T | grep -cx idle)" -eq 31 ]'
    # its picture of the cluster may be some seconds old
    wait_until 20 lab exec taut advise -N 24 >/dev/null
    run lab exec taut advise -N 4
    [ "$status" -eq 0 ]
    lab exec taut advise -N 4 --json | lab_json 'local best = d.candidates[1]
        for _, name in ipairs(best.crosses) do assert(name ~= arg[1]) end' $LINK
    # 24 nodes cannot do without it: that is said
    lab exec taut advise -N 24 --json | lab_json 'local seen = {}
        for _, c in ipairs(d.candidates) do
            for _, name in ipairs(c.crosses) do seen[name] = true end
            for _, a in ipairs(c.avoids) do seen[a.component] = true end
        end
        assert(seen[arg[1]])' $LINK
    nodes=$(lab exec taut advise -N 4 --nodelist)
    [[ $output == "1. $nodes"$'\n'* ]]
    [ "$(lab exec scontrol show hostnames "$nodes" | wc -l)" -eq 4 ]
    ! lab exec scontrol show hostnames "$nodes" | grep -qx $NODE || false
    lab exec sbatch -W -N 4 --nodelist="$nodes" -o /var/spool/home/advised.out \
        --wrap "srun hostname"
    [ "$(lab exec sort /var/spool/home/advised.out)" = "$(lab exec scontrol show hostnames "$nodes" | sort)" ]
}

@test "main job: healed and resumed, the node is back on probation and stays" {
    lab heal --all
    run lab exec taut resume $NODE
    [ "$status" -eq 0 ]
    [ "$output" = "$NODE is resumed, on probation" ]
    nothing_drained
    run lab exec taut nodes
    [[ $output == *"$NODE "*"probation"* ]]
    scene_jobs 16 900
    wait_until 60 scene_is_state $LINK ok
    # on probation two low tests of a busy machine make a suspect, no more
    ! scene_is_state $NODE/tx slow || false
    nothing_drained
}

held_after_a_job() {
    clear_holdoff
    scene_jobs 1 $((alone++)) 8 24 1
    [ -n "$(held)" ]
}

@test "observe: nothing is drained, the nodes that would be are listed" {
    conf_of "$SCENE_DIR/demo.lua" 's/^mode = .*/mode = "observe"/' \
        's/cap_nodes = 4/router_link = "drain", cap_nodes = 2/'
    fresh_tautd
    mark
    lab degrade $LINK 25
    # while a job of no known profile is beside it, nothing excludes that it fills the link
    alone=300
    wait_until 240 held_after_a_job
    scene_is_state $LINK slow
    nothing_drained
    [ "$(held)" = "$(printf '%s|mode is observe\n' n16 n17 n24 n25)" ]
    run lab exec taut status
    [[ $output == *"mode        observe"*"would drain"*"[mode is observe]"* ]]
    says tautd 'would drain n16: taut: X\+ link at [0-9]+%;.*mode is observe'
}

@test "router_link = drain: the nodes of both end routers, up to the cap, then an alert" {
    mark
    lab exec taut policy drain
    wait_until 20 eval '[ "$(scene_drained | wc -l)" -eq 2 ]'
    # the cap holds while tautd looks at it again and again
    sleep 5
    [ "$(scene_drained | wc -l)" -eq 2 ]
    [ "$(held | grep -c 'cap: 2 of at most 2 nodes of partition batch')" -eq 2 ]
    says tautd 'would drain n[0-9]+ .*, but cap: 2 of at most 2 nodes of partition batch'
    [ "$(status 'for _, a in ipairs(s.alerts) do print(a.text) end' | grep -c 'but cap: 2 of at most 2')" -ge 1 ]
    conf_of "$SCENE_DIR/demo.lua" 's/cap_nodes = 4/router_link = "drain", cap_nodes = 4/'
    lab exec taut config reload
    wait_until 20 eval '[ "$(scene_drained | wc -l)" -eq 4 ]'
    [ "$(scene_drained | cut -d'|' -f1 | sort)" = "$(printf '%s\n' n16 n17 n24 n25)" ]
    local reason
    reason=$(full_reason n24)
    [[ $reason =~ ^taut:\ X\+\ link\ at\ [0-9]+%\;\ cable\ r2\.0\.0/X\+\ to\ r3\.0\.0/X- ]] || { echo "$reason"; false; }
    [ "$(shown_reason n24 | head -c 15)" = "taut: X+ link a" ]
}

# A stream needs both directions for its handshake: which of the two is dead
# cannot be told, so either name is right; node and cable are the same.
@test "fresh: a link and a tx that carry nothing are found as failed" {
    conf_of "$SCENE_DIR/demo.lua"
    fresh_tautd
    scene_jobs 6 700
    # far from each other: a link that leads from one to the other is low by both, and in a lab
    # whose spells are of 10 s, not of an hour, all of that may come before a good test
    lab fail r3.1.0/Z+
    lab fail n9/tx
    failed() { status 'for _, v in ipairs(s.verdicts) do
        if v.state == "failed" then print(v.component) end end'; }
    found() { failed | grep -q '^r3\.1\.[01]/Z+$' && scene_is_drained n9; }
    scene_find 500 120 found
    [ "$(scene_drained | cut -d'|' -f1)" = n9 ]
    [[ $(shown_reason n9) =~ ^taut:\ nothing\ passes ]]
    ! failed | grep -Evx 'r3\.1\.[01]/Z\+|n9/[rt]x' || false
    run lab exec taut links
    [[ $output =~ r3\.1\.[01]/Z\+\ +failed\ .*avoid\ .*repair\ r3\.1\.[01]/Z ]]
}
