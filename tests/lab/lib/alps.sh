# SPDX-License-Identifier: GPL-2.0-or-later
# An ALPS of the lab's own (alps/), with Slurm 17.02 over it or, without Slurm,
# batch jobs in TORQUE's order of calls.  The controller is SDB and front end.

LAB_ALPS=$LAB_RUN/alps

# Names of nodes as their hosts have them.
node_host() {
    if [ -n "$ALPS" ]; then printf 'nid%05d' "$1"; else echo "n$1"; fi
}
node_list() {
    if [ $NODES -eq 1 ]; then node_host 0
    elif [ -n "$ALPS" ]; then printf 'nid[00000-%05d]' $((NODES - 1))
    else echo "n[0-$((NODES - 1))]"; fi
}

# ALPS wants a Slurm that is root, and so a tautd.
daemon_user() { if [ -n "$ALPS" ]; then echo root; else echo slurm; fi; }

# Not on a file system of the lab's own: aprun is set-uid.
step_alps() {
    local name
    mkdir $LAB_ALPS && mount -t tmpfs -o mode=755 lab $LAB_ALPS &&
        mkdir $LAB_ALPS/bin $LAB_ALPS/lua && : >$LAB_ALPS/lock || return
    cp "$LAB_DIR"/alps/*.lua $LAB_ALPS/lua/ || return
    for name in apbasil apkill apstat claim init xtprocadmin; do
        install -m 755 "$LAB_DIR/alps/run" $LAB_ALPS/bin/$name || return
    done
    install -m 755 "$LAB_DIR/alps/qsub" $LAB_ALPS/bin/qsub || return
    install -m 4755 "$(lab_program labaprun)" $LAB_ALPS/bin/aprun || return
    printf '#!/bin/sh\nPATH=%s exec %s/libexec/taut/taut-alps "$@"\n' $LAB_ALPS/bin:/usr/bin:/bin \
        "$TAUT_PREFIX" >$LAB_ALPS/bin/taut-alps && chmod 755 $LAB_ALPS/bin/taut-alps || return
    [ -z "$TAUT_PREFIX" ] || alps_prologues || return
    $LAB_ALPS/bin/init "$NODES" "$NODE_CPUS"
}

# The site's prologue and epilogue, for qsub.
alps_prologues() {
    local name
    mkdir -p /etc/alps || return
    for name in prolog epilog; do
        printf '#!/bin/sh\nexec %s/libexec/taut/taut-alps-prologue "$1" %s\n' "$TAUT_PREFIX" \
            $name >/etc/alps/${name}ue && chmod 755 /etc/alps/${name}ue || return
    done
}

# What the SDB says of a node: its coordinates, two nodes on each router.
alps_sdb() {
    local n X Y Z
    for ((n = 0; n < NODES; n++)); do
        coordinates "${NODE_ROUTER[n]}"
        echo "$n $X $Y $Z compute"
    done
}

# Slurm 17.02 knows fewer words.
alps_slurm_conf() {
    slurm_conf_defaults | grep -vE '^(SlurmctldHost|SlurmUser|SlurmdParameters|CredType|SelectType|SelectTypeParameters|PrologFlags|HealthCheck.*|ReturnToService|Scheduler.*|JobAcct.*)='
    cat <<'CONF'
ControlMachine=ctl
ControlAddr=172.30.0.1
SlurmUser=root
CryptoType=crypto/munge
SelectType=select/alps
LaunchType=launch/aprun
FastSchedule=2
ReturnToService=1
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,bf_continue,sched_interval=2,default_queue_depth=500,inventory_interval=1
CONF
}

alps_slurm_nodes() {
    echo "FrontendName=ctl FrontendAddr=172.30.0.1"
    echo "NodeName=$(node_list) CPUs=$NODE_CPUS RealMemory=1000 State=UNKNOWN"
    echo "PartitionName=batch Nodes=$(node_list) Default=YES MaxTime=INFINITE Shared=EXCLUSIVE State=UP"
}

step_slurm_alps() {
    alps_sdb >/etc/fake-sdb
    echo '[client]' >/etc/my.cnf
    printf 'apbasil=%s/bin/apbasil\napkill=%s/bin/apkill\n' $LAB_ALPS $LAB_ALPS >/etc/slurm/cray.conf
}

ALPS_SLURM=/opt/slurm-17.02-alps

check_alps() {
    [ $KIND = torus ] || die "--alps: with --torus only"
    need_program lua5.4
    if [ ! -x $ALPS_SLURM/sbin/slurmctld ]; then WITH_SLURM=no; fi
    [ "$WITH_SLURM" = no ] || SLURM_PREFIX=$ALPS_SLURM LAB_ENV=(
        LD_LIBRARY_PATH=$ALPS_SLURM/lib FAKE_SDB=/etc/fake-sdb)
}

alps_environment() { [ ${#LAB_ENV[@]} -eq 0 ] || export "${LAB_ENV[@]}"; }
