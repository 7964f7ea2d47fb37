#!/usr/bin/env bats
# time limit: 600 s
# SPDX-License-Identifier: GPL-2.0-or-later
# What follows from verdicts on a real slurmctld: caps, foreign reasons,
# maintenance, slurmctld away, the circuit breaker, the site's program,
# metrics, the dry run on history, repairs.  The verdicts are put into the
# database: how they come about is for other files.  No probe runs here.

load lib/tests.bash

setup_file() {
    can_have_lab || return 0
    small_conf "$BATS_FILE_TMPDIR/small.lua"
    lab_file policy lab up --torus 2x2x1 --node-cpus 1 --health-interval 3600 \
        --slurm-conf MessageTimeout=3 \
        --slurm-conf RebootProgram=/bin/true --slurm-conf ResumeTimeout=60 \
        --taut "$TAUT_PREFIX" --taut-conf "$BATS_FILE_TMPDIR/small.lua"
    # jobs here only wait and hold nodes; their checks would clear what is called slow
    lab exec bash -c ': >/etc/slurm/plugstack.conf'
}
teardown_file() { lab_file_end; }
setup() { lab_test; }
teardown() { lab_report; }

# conf POLICY [LINE…]: the policy section, and other lines of taut.lua
conf() {
    { sed '/^policy = {/,/^}/d' "$BATS_FILE_TMPDIR/small.lua"; printf '%s\n' "${@:2}" \
        "policy = { $1 }"; } >"$BATS_FILE_TMPDIR/policy.lua"
    conf_of "$BATS_FILE_TMPDIR/policy.lua"
}

# store: write rows, a JSON array "table", { … } a line, while tautd is away
store() {
    { printf '{"id":1,"op":"write","rows":['; paste -sd, -; printf ']}\n'; } | tr -d '\n' |
        lab exec bash -c "{ cat; echo; } | '$TAUT_PREFIX/sbin/tautd' --store /var/lib/taut/taut.db" |
        grep -q '"ok":true.*"count"\|"count".*"ok":true' || return
    lab exec bash -c 'chown --reference=/var/lib/taut /var/lib/taut/*'
}

now() { date +%s; }

# slow COMPONENT [LEFT [SINCE]]: rows of a component that is slow
slow() {
    local left=${2:-0.25} since=${3:-$(now)} evidence
    evidence="{\\\"left\\\":$left,\\\"tests\\\":[1,2,3]}"
    echo "[\"component\",{\"name\":\"$1\",\"data\":\"{\\\"state\\\":\\\"slow\\\",\\\"since\\\":$since,\\\"left\\\":$left,\\\"tests\\\":9,\\\"good\\\":0,\\\"busy\\\":0,\\\"run\\\":[],\\\"confirmed\\\":[],\\\"tied\\\":[]}\"}]"
    echo "[\"verdict\",{\"time\":$since,\"component\":\"$1\",\"was\":\"suspect\",\"state\":\"slow\",\"evidence\":\"$evidence\"}]"
}

# begin POLICY COMPONENT[=LEFT]…: a tautd with this policy that knows no more
# than that these are slow
begin() {
    local policy=$1 c
    shift
    lab daemon stop tautd
    lab exec bash -c 'rm -f /var/lib/taut/*'
    resume_all
    conf "$policy" "${LINES_BESIDE[@]}"
    for c; do slow "${c%=*}" "$([[ $c == *=* ]] && echo "${c#*=}" || echo 0.25)"; done | store
    mark
    start_tautd
}

drained() { scene_drained | cut -d'|' -f1 | sort | paste -sd' '; }
is_drained() { [ "$(drained)" = "$1" ]; }
held() { status 'for _, v in ipairs(s.held) do print(v.node .. "|" .. v.why) end' | sort; }
holds() { held | grep -q -- "$1"; }
log_has() { lab exec taut policy log "${@:2}" | grep -Eq -- "$1"; }

# narrow COMMAND…: no line of what it prints on a terminal is wider than 80
narrow() {
    local LC_ALL=C.UTF-8
    lab exec script -qec "stty cols 80; exec taut $*" /dev/null | tr -d '\r' >"$BATS_TEST_TMPDIR/typed"
    [ -s "$BATS_TEST_TMPDIR/typed" ] && ! grep -E '^.{81}' "$BATS_TEST_TMPDIR/typed"
}

@test "the worst go first; at the cap it stops until somebody says go on" {
    begin 'cap_nodes = 2, per_hour = false' n1/tx=0.6 n2/tx=0.1 n3/rx=0.3
    wait_until 20 is_drained "n2 n3"
    wait_until 10 holds 'n1|cap: 2 of at most 2 nodes of partition batch'
    says tautd 'at a cap, no more nodes are drained: cap: 2 of at most 2'
    [[ $(shown_reason n2) == 'taut: sends at 10%'* ]]
    [[ $(shown_reason n3) == 'taut: recv at 30%'* ]]
    narrow status
    grep -q '^at a cap ' "$BATS_TEST_TMPDIR/typed"
    # room alone changes nothing
    lab exec taut resume n3
    sleep 3
    is_drained n2
    narrow policy
    lab exec taut policy continue | grep -qx 'draining goes on'
    wait_until 10 is_drained "n1 n2"
    lab exec taut policy continue | grep -qx 'nothing was stopped'
    narrow policy log
    log_has 'drain +n2 +taut: sends at 10%'
    log_has 'resume +n3 +\(root\)'
    log_has 'tests 1 2 3|slow at 10%' --evidence -n n2
    [ "$(lab exec taut policy log --json -n n2 | lab_json 'print(d.actions[1].component, d.actions[1].evidence.left)')" = $'n2/tx\t0.1' ]
}

@test "what others did to a node is theirs; nothing acts in maintenance" {
    begin 'cap_nodes = 8, per_hour = false'
    lab exec scontrol update nodename=n1 state=drain reason='bad dimm'
    lab exec scontrol create reservation=maint flags=maint,ignore_jobs nodes=n2 \
        users=root starttime=now duration=60 >/dev/null
    lab daemon stop tautd
    { slow n1/tx; slow n2/tx; slow n3/tx; } | store
    start_tautd
    wait_until 10 scene_is_drained n3
    holds 'n1|it is drained already: bad dimm'
    holds 'n2|it is in a maintenance reservation'
    [ "$(full_reason n1)" = 'bad dimm' ]
    ! scene_is_drained n2 || false
    # somebody else takes one of ours over, and we do not give it back
    lab exec scontrol update nodename=n3 reason='mine now'
    lab exec scontrol delete reservation=maint >/dev/null
    wait_until 20 scene_is_drained n2
    wait_until 30 log_has 'taken over +n3'
    ! lab exec taut resume n3 || false
    [ "$(full_reason n3)" = 'mine now' ]
}

is_rebooting() { lab exec scontrol show node "$1" | grep -q 'REBOOT'; }
is_back() { ! is_rebooting "$1" && lab exec sinfo -h -N -n "$1" -o %T | grep -q 'drain'; }

# As in a rolling update of the kernel: Slurm resumes such a node by itself.
@test "a node that is rebooted, not repaired, is drained again" {
    begin 'cap_nodes = 8, per_hour = false' n3/tx
    wait_until 10 scene_is_drained n3
    lab exec scontrol reboot ASAP nextstate=RESUME n3
    wait_until 10 is_rebooting n3
    sleep 3 # as long as tautd takes to look at Slurm again; a boot takes minutes
    lab daemon stop slurmd@n3
    lab exec --node n3 slurmd -b -N n3
    wait_until 30 is_back n3
    [[ $(shown_reason n3) == 'taut: sends at 25%'* ]]
    wait_until 5 says tautd 'n3 was rebooted, not repaired: drained again'
    [ "$(lab exec taut policy log -n n3 | grep -Ec 'drain +n3')" = 2 ]
    [[ $(lab exec taut explain n3/tx) == *'slow at 25%'* ]]
    lab exec --node n3 bash -c 'kill "$(cat /run/slurmd.pid)"'
    lab daemon start slurmd@n3
}

@test "the job at the head of the queue keeps its nodes" {
    begin 'cap_nodes = 8, per_hour = false'
    lab exec sbatch -Q -N 8 --exclusive -o /dev/null --wrap 'sleep 300'
    # nodes just resumed are not idle at once, and the small job would go before
    runs() { [ "$(lab exec squeue -h -t running -o %D)" = 8 ]; }
    wait_until 30 runs
    lab exec sbatch -Q -N 7 --exclusive -o /dev/null --wrap true
    # until the scheduler has looked at it, it waits for nothing
    waits() { [ "$(lab exec squeue -h -t pending -o %r)" = Resources ]; }
    wait_until 60 waits
    lab daemon stop tautd
    { slow n1/tx 0.2; slow n2/tx; } | store
    start_tautd
    # 8 usable nodes, 7 needed: one may go
    wait_until 20 eval '[ "$(scene_drained | wc -l)" -eq 1 ]'
    wait_until 10 holds 'capability_hold: job [0-9]*, at the head of the queue, needs 7 of 7'
    cancel_all
    wait_until 30 is_drained "n1 n2"
}

@test "slurmctld away: said once, tried again, done when it is back" {
    begin 'cap_nodes = 8, per_hour = false'
    lab exec taut policy observe
    lab daemon stop tautd
    slow n1/tx | store
    mark
    start_tautd
    wait_until 10 holds 'n1|mode is observe'
    lab daemon stop slurmctld
    lab exec taut policy drain
    wait_until 40 says tautd 'cannot drain n1: Unable to contact slurm controller.*trying again'
    lab daemon start slurmctld
    wait_until 30 is_drained n1
    one_line tautd 'cannot drain n1'
    one_line tautd 'cannot ask Slurm'
    says tautd 'Slurm answers again'
    log_has 'drain failed +n1'
    log_has 'drain +n1'
    # slurmctld may still wait for the node, call that an error, and do it
    lab exec taut resume n1 || true
    wait_until 20 is_drained ""
    wait_until 20 log_has 'resume +n1 +.root'
}

@test "many verdicts at once: the circuit breaker" {
    LINES_BESIDE=('refresh_s = 2')
    begin 'cap_nodes = 8, per_hour = false, breaker_verdicts = 3' n1/tx n2/tx n3/tx
    wait_until 10 says tautd 'stopped draining: 3 components became slow, lossy or failed within 1 h'
    holds 'n2|stopped: 3 components'
    nothing_drained
    narrow status
    grep -q '^stopped  ' "$BATS_TEST_TMPDIR/typed"
    # a restart forgets nothing
    lab daemon restart tautd
    wait_until 10 holds 'n2|stopped: 3 components'
    lab exec taut policy drain | grep -q 'but nothing is drained'
    lab exec taut policy continue
    wait_until 10 is_drained "n1 n2 n3"
}

@test "on_event: the site's program is told, as tautd's user, who is not root" {
    lab exec install -d -m 777 /var/spool/told
    lab exec install -m 755 /dev/stdin /etc/taut/tell <<'END'
#!/bin/sh
tr '\0' '\n' </proc/$$/environ >/var/spool/told/environment
cat >>/var/spool/told/events
{ echo; id -un; } >>/var/spool/told/events
END
    begin 'cap_nodes = 8, per_hour = false, on_event = { "/etc/taut/tell" }' n1/tx
    wait_until 20 eval 'lab exec grep -q "\"drain\"" /var/spool/told/events'
    lab exec grep -q '"node":"n1"' /var/spool/told/events
    wait_until 5 lab exec grep -qx slurm /var/spool/told/events
    # nothing of tautd's environment
    [ "$(lab exec sed 's/=.*//' /var/spool/told/environment)" = PATH ]
    # one that hangs delays no one
    lab exec bash -c 'printf "#!/bin/sh\nsleep 1000\n" >/etc/taut/tell'
    lab exec taut policy observe
    lab exec timeout 20 taut status >/dev/null
}

# ask REQUEST: what the metrics' port answers to these bytes
ask() {
    lab exec timeout 20 bash -c 'exec 3<>/dev/tcp/127.0.0.1/6825; printf "$1" >&3; cat <&3' _ "$1"
}

@test "metrics: what Prometheus reads, and rude clients" {
    begin 'cap_nodes = 8, per_hour = false' n1/tx r1.0.0/X+
    wait_until 20 is_drained n1
    ask 'GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n' | tr -d '\r' >"$BATS_TEST_TMPDIR/answer"
    grep -qx 'HTTP/1.1 200 OK' "$BATS_TEST_TMPDIR/answer"
    grep -qx 'Content-Type: text/plain; version=0.0.4; charset=utf-8' "$BATS_TEST_TMPDIR/answer"
    sed '1,/^$/d' "$BATS_TEST_TMPDIR/answer" >"$BATS_TEST_TMPDIR/metrics"
    cat >"$BATS_TEST_TMPDIR/read.lua" <<'END'
package.path = arg[1] .. "/?.lua;" .. package.path
local _, v = require "lib.promparse".read(io.read "a")
assert(v["taut_nodes_drained{cluster=lab}"] == 1)
assert(v["taut_components{cluster=lab,kind=tx,state=slow}"] == 1)
assert(v["taut_partition_cap{cluster=lab,partition=batch}"] == 8)
assert(v["taut_actions_total{action=drain,cluster=lab}"] == 1)
assert(v["taut_store_up{cluster=lab}"] == 1 and v["taut_slurm_up{cluster=lab}"] == 1)
END
    "$TAUT_PREFIX/bin/taut" --lua "$BATS_TEST_TMPDIR/read.lua" "$BATS_TEST_DIRNAME/../lua" <"$BATS_TEST_TMPDIR/metrics"
    # twenty who say nothing: the loop goes on, and the next is served
    lab exec bash -c 'for i in $(seq 20); do sleep 6 <>/dev/tcp/127.0.0.1/6825 & done; wait' &
    local silent=$!
    sleep 0.5
    lab exec timeout 5 taut status >/dev/null
    ask 'GET /other HTTP/1.0\r\n\r\n' | grep -q ' 404 '
    ask 'POST /metrics HTTP/1.1\r\nContent-Length: 9\r\n\r\n123456789' | grep -q '^HTTP/1.1 [45]'
    wait $silent
}

# queries: those of the dashboard and of the rules, as Grafana and Prometheus ask them
queries() {
    cat >"$BATS_TEST_TMPDIR/queries.lua" <<'END'
local json = require "taut.json"
local function say(query)
   print((query:gsub("[^%w]", function(c) return ("%%%02X"):format(c:byte()) end)) .. "\t" .. query)
end
for _, panel in ipairs(json.decode(io.open(arg[1]):read "a").panels) do
   for _, target in ipairs(panel.targets) do
      say((target.expr:gsub("%$instance", ".*"):gsub("%$cluster", ".*"):gsub("%$__rate_interval", "1m")))
   end
end
for line in io.lines(arg[2]) do
   local query = line:match "^ +expr: (.*)"
   if query then
      say(query)
   end
end
END
    "$TAUT_PREFIX/bin/taut" --lua "$BATS_TEST_TMPDIR/queries.lua" "$monitoring/grafana.json" \
        "$monitoring/taut.rules.yml"
}

@test "metrics: a real Prometheus answers every query of the dashboard and the alerts" {
    command -v prometheus >/dev/null || skip "prometheus is not installed"
    local monitoring=$TAUT_PREFIX/share/taut/monitoring out=$BATS_TEST_TMPDIR/answers
    LINES_BESIDE=('metrics = { components = 5, leaves = 5 }')
    begin 'cap_nodes = 8, per_hour = false' n1/tx r1.0.0/X+
    wait_until 20 is_drained n1
    queries >"$BATS_TEST_TMPDIR/queries"
    lab exec bash "$BATS_TEST_DIRNAME/lib/prometheus.sh" "$BATS_TEST_TMPDIR/prometheus" \
        "$monitoring/taut.rules.yml" "$BATS_TEST_TMPDIR/queries" >"$out"
    cat "$out"
    # the dashboard has something to show everywhere, but for probes, of which none runs here,
    # and sets of links, which a torus has not
    ! head -n "$(grep -c '"expr"' "$monitoring/grafana.json")" "$out" |
        grep -v -e taut_probes -e taut_leaf_sets | grep '^0 ' || false
    # and the alerts that are due see what there is
    grep -q '^[12] taut_component_left_ratio{known=""} < 1$' "$out"
    grep -q '^1 sum by (cluster, instance) (taut_components{state=~"slow|lossy|failed"}) - .* > 0$' "$out"
    # the first drain after a start is seen
    run lab exec taut check --nagios
    [ "$status" -eq 1 ]
    [[ $output == "TAUT WARNING - slow, lossy or failed: "*"n1/tx"*"; drained: n1 | slow=2;"* ]]
    lab daemon stop tautd
    run lab exec taut check --nagios
    [ "$status" -eq 3 ]
    [[ $output == *"TAUT UNKNOWN - tautd does not answer"* ]]
}

@test "replay: what these settings, and others, would have done" {
    begin 'cap_nodes = 8, per_hour = false' n1/tx n2/tx r1.0.0/X+
    wait_until 20 is_drained "n1 n2"
    narrow policy --replay 7
    grep -Eq '^drains +2 on 2 nodes, at most 2 at once' "$BATS_TEST_TMPDIR/typed"
    grep -Eq '^asked for +avoid 1, drain 2' "$BATS_TEST_TMPDIR/typed"
    grep -Eq '^was done +drain 2' "$BATS_TEST_TMPDIR/typed"
    run lab exec taut policy --replay 7 --set cap_nodes=1
    [[ $output == *"at a cap: stop"*"held back"*"drains      1 on 1 node"* ]]
    [ "$(lab exec taut policy --replay 7 --set breaker_verdicts=1 --json | lab_json 'print(d.sums.drains, d.sums.stops)')" = $'0\t1' ]
    run lab exec taut policy --replay 7 --set cap_nodes=many
    [ "$status" -eq 2 ]
    [[ $output == *'policy.cap_nodes: expected a whole number'* ]]
    lab exec taut policy --replay 0 2>&1 | grep -q 'more than 0'
    # it changes nothing
    is_drained "n1 n2"
}

@test "repair: parts, whom to drain, and afterwards" {
    begin 'cap_nodes = 8, per_hour = false' n2/tx r1.0.0/X+
    wait_until 20 is_drained n2
    narrow repair r1.0.0/X+
    grep -Eq '^cable +r1.0.0/X\+ to r0.0.0/X\+' "$BATS_TEST_TMPDIR/typed"
    grep -Eq '^cable out +no node loses the network' "$BATS_TEST_TMPDIR/typed"
    grep -Eq 'scontrol update nodename=n\[4-5\]|scontrol update nodename=n\[0-1\]' "$BATS_TEST_TMPDIR/typed"
    ! lab exec --user alice taut repair r1.0.0/X+ --done || false
    lab exec taut repair r1.0.0/X+ --done | grep -q '^forgotten .*on probation for 24 h'
    scene_is_state r1.0.0/X+ unknown # until a test
    is_drained n2
    run lab exec taut repair n2 --done --resume
    [ "$status" -eq 0 ]
    [[ $output == *"resumed      n2"* ]]
    nothing_drained
    log_has 'repaired +n2 +\(root\)'
    run lab exec taut repair r9.9.9/X+
    [ "$status" -eq 2 ]
    [[ $output == *"is not a component, node or router"* ]]
}

@test "a function of the site decides; nonsense drains nobody" {
    begin 'cap_nodes = 8, per_hour = false,
        measure = function(v) if v.is_link then return "drain", { "n6" } end end' r1.0.0/X+ n1/tx
    wait_until 20 is_drained "n1 n6"
    begin 'cap_nodes = 8, per_hour = false,
        measure = function(v) return v.nonsense.more end' r1.0.0/X+ n1/tx
    wait_until 10 eval "lab exec taut status | grep -q 'taut.lua:[0-9]*: attempt to index'"
    sleep 2
    nothing_drained
}
