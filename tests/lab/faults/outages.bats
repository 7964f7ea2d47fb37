#!/usr/bin/env bats
# time limit: 2400 s
# SPDX-License-Identifier: GPL-2.0-or-later
# When the hosts are ill: processes that die or stop, limits, disks, clocks,
# names, the control network.  In each case jobs start within their budget,
# nothing is drained for it, nothing is left over, and within a minute after
# the fault whole checks are made again.  doc/faults.md lists the classes.

load faults.bash

setup_file() {
    can_have_lab || return 0
    faults_up outages
    left >"$BATS_FILE_TMPDIR/left"
}
teardown_file() { lab_file_end; }
setup() { faults_begin; }
teardown() { faults_end; }

# left: the files of Taut and the namespaces that there are
left() {
    lab exec bash -c 'find /var/lib/taut /run/taut /run/lab/run.n*/taut /dev/shm \
            -not -name "*-wal" -not -name "*-shm" -not -name holdoff -not -name usage | sort
        readlink /proc/[0-9]*/ns/{net,mnt,pid} 2>/dev/null | sort -u'
}

no_probe() { ! lab exec pgrep -x taut-probe >/dev/null; }
helpers() { lab exec pgrep -c -u slurm -f 'tautd|taut-slurm'; }
whole() {
    # tautd, its store, taut-slurm, who looks up addresses
    [ "$(helpers)" -eq 4 ] && left | cmp -s "$BATS_FILE_TMPDIR/left" - && no_probe
}
# checks: sooner or later a job's nodes test; none do while an idle check has their links
job_tests() {
    clear_holdoff
    job -N 4 -w n[0-3] && wait_until 10 explain_says 'on 4 nodes: 4 heard from, [1-9][0-9]* tests'
}
checks() { wait_until 30 job_tests; }

# recovers: within a minute Taut is itself, nothing is left and nobody was harmed
recovers() {
    wait_until 60 job_tests
    wait_until 60 whole || {
        lab exec pgrep -a taut
        left | diff "$BATS_FILE_TMPDIR/left" -
        return 1
    }
    unharmed
}

# quick SRUN-OPTION…: a job whose start is not held up by more than the hard stop
quick() {
    local began=${EPOCHREALTIME/./}
    job "$@"
    [ $((${EPOCHREALTIME/./} - began)) -le 15000000 ]
}

pid_of() { lab exec pgrep -u slurm -f -o "$1"; }
signal() { lab exec kill "-$1" "$(pid_of "$2")"; }
# limit LIMIT: of tautd, by its own user
limit() { lab exec setpriv --reuid slurm --regid slurm --init-groups prlimit --pid "$(pid_of sbin/tautd)" "$1"; }
# anew FILE-PATTERN PID: does another process than PID do it now?
anew() { local pid; pid=$(pid_of "$1") && [ "$pid" != "$2" ]; }

# ---------------------------------------------------------------- processes

# falls_out PATTERN: that helper of tautd is killed, and later stands still
falls_out() {
    local pid
    pid=$(pid_of "$1")
    signal KILL "$1"
    quick -N 2 -w n[0-1]
    wait_until 60 anew "$1" "$pid"
    checks
    signal STOP "$1"
    quick -N 2 -w n[0-1]
    lab exec taut status >/dev/null
    signal CONT "$1" || true # tautd may have ended it
    recovers
}

@test "the store is killed, and stands still: checks go on" { falls_out 'tautd --store'; }

@test "taut-slurm is killed, and stands still: checks go on" { falls_out taut-slurm; }

@test "who looks up addresses is killed, and stands still: checks go on" { falls_out 'tautd --addresses'; }

@test "tautd and its helpers are killed at once, as by a cgroup or for want of memory" {
    lab exec taut policy observe
    lab exec pkill -KILL -u slurm -f 'tautd|taut-slurm'
    quick -N 2 -w n[0-1]
    start_tautd
    recovers
    [ "$(status 'print(s.mode)')" = observe ]
    lab exec taut policy drain
}

@test "slurmd is killed and started again" {
    lab exec pkill -KILL -f 'slurmd -D -N n1$'
    quick -N 2 -w n[2-3]
    lab daemon start slurmd@n1
    recovers
}

@test "slurmctld is killed and started again while a job runs" {
    lab exec sbatch -Q -N 2 -w n[4-5] --exclusive -o /dev/null --wrap "sleep 20"
    wait_until 10 eval '[ "$(lab exec squeue -h -t R -o %D)" = 2 ]'
    # it writes its jobs 5 s later at most; of one that it forgets Slurm itself drains the nodes
    sleep 6
    lab exec pkill -KILL -x slurmctld
    sleep 2
    lab exec taut status >/dev/null
    lab daemon start slurmctld
    recovers
}

@test "syslog stands still: an idle check ends, and nothing waits for it" {
    lab daemon pause syslog
    quick -N 2 -w n[0-1]
    sleep 6 # the idle checks of all nodes
    lab daemon resume syslog
    recovers
}

@test "a probe that makes a forbidden system call: its end is logged" {
    wrap_probe 'n0' 'kill -SYS $$'
    quick -N 2 -w n[0-1]
    one_line nodes "error: taut: job $JOB on n0: .*died of signal 31 .Bad system call."
    as_made
    recovers
}

# ---------------------------------------------------------------- limits

@test "no memory, no descriptors, no processes for the probe" {
    local limit
    for limit in "-v 12000" "-n 6" "-u 1"; do
        wrap_probe 'n[01]' "ulimit $limit; exec \"\$probe\" \"\$@\""
        clear_holdoff
        quick -N 2 -w n[0-1]
        as_made
    done
    says nodes 'Cannot allocate memory'
    says nodes 'Too many open files'
    recovers
}

@test "no descriptors for tautd" {
    limit --nofile=16:
    quick -N 4 -w n[0-3]
    limit --nofile=4096:
    recovers
}

@test "no processes for tautd: its store cannot be started again until there are" {
    limit --nproc=1:
    signal KILL 'tautd --store'
    quick -N 2 -w n[0-1]
    lab exec taut status >/dev/null
    limit --nproc=1000:
    recovers
}

# ---------------------------------------------------------------- files

@test "a read-only file system under the database and the brakes" {
    lab daemon stop tautd
    lab exec mount -t tmpfs -o ro,size=1m ro /var/lib/taut
    start_tautd
    quick -N 2 -w n[0-1]
    says tautd 'Read-only file system|cannot open database'
    nothing_drained
    lab daemon stop tautd
    lab exec umount /var/lib/taut
    start_tautd
    recovers
}

@test "no file for hold-offs: prologs end all the same" {
    plugstack 's|$| rundir=/proc/none|'
    lab daemon stop tautd
    quick -N 2 -w n[0-1]
    quick -N 2 -w n[0-1]
    as_made
    start_tautd
    recovers
}

# ---------------------------------------------------------------- clocks

clock=$TAUT_BUILDDIR/tests/fake/.libs/clock.so

# tautd_off SECONDS: tautd with a wall clock of its own
tautd_off() {
    lab daemon stop tautd
    lab exec bash -c 'echo 0 >/run/lab/clock; chmod 644 /run/lab/clock
        LAB_CLOCK=/run/lab/clock LD_PRELOAD=$1 setpriv --reuid slurm --regid slurm --init-groups \
            tautd -c /etc/taut/taut.lua </dev/null >>/var/log/lab/tautd.out 2>&1 &
        echo $! >/run/lab/pid/tautd' _ "$clock"
    wait_until 10 lab exec taut status >/dev/null
    clear_holdoff
}

@test "the controller's clock jumps ahead by an hour, and back" {
    tautd_off
    checks
    lab exec bash -c 'echo 3600 >/run/lab/clock'
    checks
    unharmed
    lab exec bash -c 'echo -3600 >/run/lab/clock'
    checks
    unharmed
    lab daemon stop tautd
    start_tautd
    recovers
}

ran() { status 'print(s.tests.good + s.tests.low + s.tests.void)'; }
due_are() { [ "$(status 'print(s.nothing_due)')" -ge "$1" ]; }

@test "the controller's clock is set by 25 h, ahead and back: no plan changes, over a restart too" {
    local off before due=0
    lab daemon stop tautd
    lab exec bash -c 'rm -f /var/lib/taut/*'
    conf_of "$SMALL" 's/fresh_h = 0,/fresh_h = 24,/' 's/retry_h = 0/retry_h = 24/'
    tautd_off
    job -N 2 -w n[0-1]
    wait_until 20 eval '[ "$(ran)" -gt 0 ]'
    wait_until 60 no_jobs
    before=$(ran)
    for off in 0 90000 -90000 3600; do
        lab exec bash -c "echo $off >/run/lab/clock"
        job -N 2 -w n[0-1]
        due=$((due + 1))
        wait_until 20 due_are $due
        [ "$(ran)" = "$before" ]
    done
    lab exec bash -c 'echo 90000 >/run/lab/clock'
    wait_until 30 eval "lab exec taut status | grep -q '^clock .*25.0 h ahead'"
    # the next tautd begins with the clock as it was set
    lab daemon stop tautd
    lab exec bash -c 'LAB_CLOCK=/run/lab/clock LD_PRELOAD=$1 setpriv --reuid slurm --regid slurm \
            --init-groups tautd -c /etc/taut/taut.lua </dev/null >>/var/log/lab/tautd.out 2>&1 &
        echo $! >/run/lab/pid/tautd' _ "$clock"
    wait_until 10 lab exec taut status >/dev/null
    clear_holdoff
    job -N 2 -w n[0-1]
    wait_until 20 due_are 1
    [ "$(ran)" = 0 ]
    unharmed
    lab daemon stop tautd
    lab exec rm -f /run/lab/clock
    as_made
    start_tautd
}

# tautd_up SECONDS: tautd on a host that booted so much earlier; the id of its boot is this one's,
# so that it must not find the uptime of another
tautd_up() {
    lab daemon stop tautd
    lab exec rm -f /var/lib/taut/clock
    lab exec bash -c 'unshare --time --fork --monotonic "$1" --boottime "$1" \
            setpriv --reuid slurm --regid slurm --init-groups \
            tautd -c /etc/taut/taut.lua </dev/null >>/var/log/lab/tautd.out 2>&1 &' _ "$1"
    wait_until 10 lab exec taut status >/dev/null
    lab exec bash -c 'pgrep -u slurm -o -x tautd >/run/lab/pid/tautd'
}
uptime_is() { [ "$(lab exec sed -n 's/^up \(.*\)\..*/\1/p' /var/lib/taut/clock)" "$@" ]; }

@test "the controller is up for ten years, and then for a second: checks are made as ever" {
    local up
    lab exec unshare --time true || skip "no time namespaces"
    tautd_up 315360000
    wait_until 10 uptime_is -ge 315360000
    checks
    up=$(cut -d. -f1 /proc/uptime)
    tautd_up $((1 - up))
    wait_until 10 uptime_is -lt 60
    checks
    unharmed
    ! lab exec taut status | grep '^clock ' || false
    lab daemon stop tautd
    lab exec rm /var/lib/taut/clock
    start_tautd
    recovers
}

# clock_shows: until a message is taken again, and an idle check asks another munged
clock_shows() {
    clear_holdoff
    quick -N 2 -w n[0-1]
    lab exec taut status | tr -s '\n ' ' ' |
        grep -q "clocks MUNGE refuses messages of these nodes, because their clocks differ: n[01] (7[12][0-9]* s ahead)"
}

@test "a node's clock is wrong: its messages are refused, and said to be" {
    plugstack 's|$| munge_socket=/run/munge/taut.socket|'
    lab exec bash -c 'echo 7200 >/run/lab/clock'
    lab exec env LAB_CLOCK=/run/lab/clock LD_PRELOAD="$clock" \
        setpriv --reuid munge --regid munge --init-groups munged \
        --socket=/run/munge/taut.socket --key-file=/etc/munge/munge.key \
        --pid-file=/run/munge/taut.pid --log-file=/var/log/munge/taut.log \
        --seed-file=/var/lib/munge/taut.seed --force
    sleep 1.1 # refusals are logged once a second
    quick -N 2 -w n[0-1]
    wait_until 5 says tautd 'refused a message from .*: HELLO: .*[Rr]ewound.*: the clock of n[01] is 7[12][0-9]* s ahead'
    wait_until 30 clock_shows
    [ "$(status 'print(#s.silent)')" = 0 ]
    unharmed
    lab exec bash -c 'kill $(cat /run/munge/taut.pid); rm -f /run/lab/clock'
    as_made
    recovers
}

# ---------------------------------------------------------------- names and the control network

@test "the name service does not answer: prologs end, the nodes hold off" {
    wrap_probe 'n[01]' 'exec unshare -m bash -c "
        echo hosts: dns >/run/nss; echo nameserver 172.30.250.250 >/run/resolv
        mount --bind /run/nss /etc/nsswitch.conf; mount --bind /run/resolv /etc/resolv.conf
        exec \"\$@\"" _ "$probe" "$@"'
    quick -N 2 -w n[0-1]
    says nodes "job $JOB on n0: .*(name service does not answer|is not known); no checks for 60 s"
    lab exec rm -f /run/nss /run/resolv
    as_made
    recovers
}

@test "packets get lost on the control network" {
    local i
    for i in 0 1 2 3; do
        lab exec tc qdisc add dev c$i root tbf rate 400kbit burst 2000 limit 4000
    done
    quick -N 4 -w n[0-3]
    quick -N 4 -w n[0-3]
    nothing_drained
    for i in 0 1 2 3; do lab exec tc qdisc del dev c$i root; done
    recovers
}

@test "a node without the control network: the others go on" {
    lab exec ip link set c6 down
    quick -N 4 -w n[0-3]
    nothing_drained
    lab exec ip link set c6 up
    recovers
}

# ---------------------------------------------------------------- the end of a node

# dies PURPOSE CONDITION: n2's probe is killed, and with it all of the node's
# part, once a look at its connections says so
dies() {
    wrap_probe n2 '
"$probe" "$@" & pid=$!
for ((i = 0; i < 2000; i++)); do
    text=$(</proc/self/net/tcp)
    '"$1"' && break
done
kill -9 $pid
kill -9 $$'
}
hello=' [0-9A-F]{8}:1AA8 01 '
stream=' [0-9A-F]{6}0A:[0-9A-F]{4} [0-9A-F]{8}:[0-9A-F]{4} 01 '

@test "a node that dies before HELLO, before its plan, before its result" {
    local when
    for when in : "[[ \$text =~ '$hello' ]]" \
        "{ [[ \$text =~ '$stream' ]] && seen=1; [[ \${seen:-} && ! \$text =~ '$stream' ]]; }"; do
        dies "${when//\'/}"
        quick -N 4 -w n[0-3]
        unharmed
        as_made
        settled
    done
    recovers
}

@test "a node that dies in its epilog" {
    lab exec install -m 755 /dev/stdin /etc/taut/wrapped-probe <<END
#!/bin/bash
[ \$1 != epilog ] || kill -9 \$\$
exec $TAUT_PREFIX/libexec/taut/taut-probe "\$@"
END
    plugstack 's|probe=[^ ]*|probe=/etc/taut/wrapped-probe|'
    quick -N 2 -w n[2-3]
    as_made
    recovers
}

@test "a node whose host is gone while its job runs" {
    lab exec sbatch -Q -N 2 -w n[2-3] --exclusive -o /dev/null --wrap "sleep 3"
    sleep 1
    lab exec ip link set c3 down
    lab daemon pause slurmd@n3
    quick -N 2 -w n[0-1]
    nothing_drained
    lab daemon resume slurmd@n3
    lab exec ip link set c3 up
    recovers
}

# ---------------------------------------------------------------- versions

# speaks_99: as a probe of another protocol would
speaks_99() {
    lab exec munge -u slurm -s '{"v":99,"purpose":"prolog","job":1,"node":"n1","nodes":"n1"}' |
        hello_from n1
}
# shown_after COMMAND PATTERN: what is known of n1 is what it said last, and an
# idle check may come in between
shown_after() {
    speaks_99
    lab exec taut "$1" | grep -A2 "$2" | grep n1
}

@test "a node of another version: refused, and said which" {
    local before
    before=$(status 'print(s.refused)')
    sleep 1.1 # refusals are logged once a second
    speaks_99
    wait_until 10 eval '[ "$(status "print(s.refused)")" -gt '"$before"' ]'
    wait_until 5 says tautd 'refused a message from .*: v: expected protocol 1, got 99'
    wait_until 20 shown_after doctor '^MEND *probes'
    wait_until 20 shown_after nodes 'protocol 99, refused'
    recovers
}

# another_probe FOLDER: the path of one that speaks another protocol, too: that
# of TAUT_LAST_RELEASE=COMMIT or of the last tag, built in FOLDER; while there is
# none, today's with the next number
another_probe() {
    local commit=${TAUT_LAST_RELEASE:-$(git -C "$TAUT_SRCDIR" describe --tags \
        --match 'v[0-9]*' --abbrev=0 'HEAD^' 2>/dev/null)}
    if [ -z "$commit" ]; then
        echo "$TAUT_BUILDDIR/tests/fake/next-probe"
        return
    fi
    mkdir -p "$1/build" && git -C "$TAUT_SRCDIR" archive "$commit" | tar -xC "$1" &&
        (cd "$1" && ./autogen.sh && cd build && ../configure --disable-unit-tests &&
            make plugin/taut-probe) >"$1/log" 2>&1 || { tail "$1/log" >&2; return 1; }
    echo "$1/build/plugin/taut-probe"
}

@test "nodes with another release's probe: checked, beside nodes with this one's" {
    local probe
    probe=$(another_probe "$BATS_FILE_TMPDIR/old")
    # what today's plugin says and that probe does not know is left out
    wrap_probe 'n[13]' "help=\$($probe --help); said=(\$1); shift
        while [ \$# -gt 0 ]; do
            words=2
            case \$1 in --from-environ | --syslog) words=1 ;; esac
            if [[ \$help == *\"\$1\"* ]]; then said+=(\"\${@:1:words}\"); fi
            shift \$words
        done
        exec $probe \"\${said[@]}\""
    wait_until 60 job_tests
    lab exec taut nodes --json | lab_json 'for _, n in ipairs(d.nodes) do
        print(n.node, n.probe.release, n.probe.protocol) end'
    unharmed
}

# hello_from NODE: standard input as a HELLO, from a port of root's
hello_from() {
    lab exec --node "$1" perl -MSocket -e '
        local $/;
        my $text = <STDIN>;
        socket(my $s, PF_INET, SOCK_STREAM, 0) or die "socket: $!";
        for my $port (reverse 600 .. 1023) {
            last if bind($s, sockaddr_in($port, INADDR_ANY));
        }
        connect($s, sockaddr_in(6824, inet_aton("ctl"))) or die "connect: $!";
        syswrite($s, pack("NC", length($text) + 1, 1) . $text);
        alarm 5;
        sysread($s, my $answer, 1);'
}

# ---------------------------------------------------------------- the fabric

@test "an MTU that does not fit: what is lost shows, nobody is drained" {
    lab exec --node n1 ip link set hsn0 gso_max_segs 1
    lab exec --node n1 ip link set hsn0 gso_max_size 1500
    # n0 learns of it from its own packets, and then asks n1 for small ones: not
    # before a job was checked, be it by an idle check's; and then surely
    lab exec --node n0 sysctl -qw net.ipv4.ip_no_pmtu_disc=2
    lab exec ip -n r0.0.0 link set n1 mtu 900
    quick -N 2 -w n[0-1]
    wait_until 10 explain_says 'tx_dropped [+][0-9]'
    lab exec --node n0 sysctl -qw net.ipv4.ip_no_pmtu_disc=0
    lab exec --node n0 bash -c 'printf %1400d 0 >/dev/udp/10.0.0.2/9'
    quick -N 4 -w n[0-3]
    nothing_drained
    lab exec ip -n r0.0.0 link set n1 mtu 1500
    lab exec --node n1 ip link set hsn0 gso_max_size 65536
    lab exec --node n1 ip link set hsn0 gso_max_segs 65535
    local node
    for node in n0 n1 n2 n3; do lab exec --node $node ip route flush cache; done
    recovers
}
