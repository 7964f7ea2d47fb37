# SPDX-License-Identifier: GPL-2.0-or-later
# Configuration of the lab's Slurm and MUNGE.

# The default lines of slurm.conf.  The scheduler looks often, so that
# hundreds of short jobs pass quickly; nodes are what the lab says, not what
# the machine is.
slurmctld_hosts() {
    local host
    [ "$CONTROLLERS" -gt 0 ] || echo "SlurmctldHost=ctl(172.30.0.1)"
    for host in $(controllers); do
        echo "SlurmctldHost=$host($(controller_address "$host"))"
    done
}

slurm_conf_defaults() {
    cat <<CONF
ClusterName=lab
$(slurmctld_hosts)
SlurmUser=slurm
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd/%n
SlurmctldPidFile=/run/slurmctld/slurmctld.pid
MailProg=/bin/true
SlurmdPidFile=/run/slurmd.pid
SlurmctldLogFile=/var/log/slurm/slurmctld.log
SlurmdLogFile=/var/log/slurm/slurmd.%n.log
SlurmctldDebug=info
SlurmdDebug=info
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
$(if [ -n "$ACCOUNTING" ]; then accounting_conf; else echo AccountingStorageType=accounting_storage/none; fi)
JobCompType=jobcomp/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,bf_continue,sched_interval=2,sched_min_interval=20000,default_queue_depth=500,batch_sched_delay=0
PrologFlags=Alloc,DeferBatch
SlurmdParameters=config_overrides
ReturnToService=2
SlurmdTimeout=60
SlurmctldTimeout=30
MessageTimeout=20
InactiveLimit=0
KillWait=5
WaitTime=0
MinJobAge=600
MaxJobCount=20000
CONF
    slurm_topology_plugin
    [ -z "$TAUT_PREFIX" ] || cat <<CONF
HealthCheckProgram=$TAUT_PREFIX/libexec/taut/taut-healthcheck
HealthCheckInterval=$HEALTH_INTERVAL
HealthCheckNodeState=$HEALTH_STATES
CONF
}

# The lab asks its own Slurm.
slurm_path() { [ -z "$SLURM_PREFIX" ] || PATH=$SLURM_PREFIX/sbin:$SLURM_PREFIX/bin:$PATH; }

# Which release of Slurm runs here, as one number: 2205, 2605 …
slurm_release() { slurmctld -V | awk -F '[ .]' '{ print $2 * 100 + $3 }'; }

# Nothing here is confined; how to say so has changed.
cgroup_conf() {
    if [ "$(slurm_release)" -ge 2411 ]; then
        echo CgroupPlugin=disabled
    else
        echo CgroupPlugin=cgroup/v1
    fi
}

# A line of --slurm-conf takes the place of the default with its key; lines
# about nodes and partitions are added.
slurm_conf() {
    local line
    while read -r line; do
        slurm_conf_overrides "${line%%=*}" || echo "$line"
    done < <(if [ -n "$ALPS" ]; then alps_slurm_conf; else slurm_conf_defaults; fi)
    if [ -n "$ALPS" ]; then alps_slurm_nodes; else slurm_conf_nodes; fi
    for line in "${SLURM_CONF_LINES[@]}"; do echo "$line"; done
    [ -z "$JOB_SUBMIT" ] || echo "JobSubmitPlugins=lua"
}

# What a node has, by its line in slurm.conf or as a dynamic one says of itself.
node_make() { echo "CPUs=$NODE_CPUS RealMemory=1000"; }

# The last ones are not in slurm.conf: they register, and may be deleted.
is_dynamic() { [ "${1#n}" -ge $((NODES - DYNAMIC)) ]; }

slurm_conf_nodes() {
    local n
    for ((n = 0; n < NODES - DYNAMIC; n++)); do
        echo "NodeName=n$n NodeHostname=n$n NodeAddr=${CONTROL_ADDRESS[n]}" \
            "$(node_make) State=UNKNOWN"
    done
    [ "$DYNAMIC" -eq 0 ] || echo "MaxNodeCount=$NODES"
    echo "PartitionName=batch Nodes=$([ "$DYNAMIC" -gt 0 ] && echo ALL || echo "n[0-$((NODES - 1))]")" \
        "Default=YES MaxTime=INFINITE OverSubscribe=NO State=UP"
}

slurm_conf_overrides() {
    local line
    for line in "${SLURM_CONF_LINES[@]}"; do
        [ "${line%%=*}" = "$1" ] && return
    done
    return 1
}

taut_servers() {
    if [ "$CONTROLLERS" -gt 0 ]; then controllers | paste -sd,; else echo ctl; fi
}

# The same settings for prologs (plugstack.conf) and idle checks (node.conf).
taut_node() {
    local l DEV devices=hsn0
    [ "$BOND" -eq 0 ] || devices=auto
    for l in "${!EXTRA_NODE[@]}"; do
        extra_device "$l"
        [[ ,$devices, = *,$DEV,* ]] || devices+=,$DEV
    done
    echo "servers=$(taut_servers) user=$(daemon_user) interface=$devices"
}

plugstack_conf() {
    [ -z "$TAUT_PREFIX" ] ||
        echo "optional $TAUT_PREFIX/lib/slurm/spank_taut.so $(taut_node)" \
            "${ALPS:+launch=aprun launcher=$LAB_ALPS/bin/taut-alps }budget_ms=1000 probe=$TAUT_PREFIX/libexec/taut/taut-probe"
}

step_munge() {
    install -d -o munge -g munge -m 700 /etc/munge /var/log/munge || return
    install -d -o munge -g munge -m 711 /var/lib/munge || return
    install -d -o munge -g munge -m 755 /run/munge || return
    head -c 128 /dev/urandom >/etc/munge/munge.key || return
    chown munge:munge /etc/munge/munge.key && chmod 400 /etc/munge/munge.key || return
    daemon_start munged
}

step_slurmctld() {
    slurm_topology >/etc/slurm/topology.conf
    [ -z "$ALPS" ] || step_slurm_alps || return
    slurm_conf >/etc/slurm/slurm.conf && plugstack_conf >/etc/slurm/plugstack.conf || return
    [ -z "$JOB_SUBMIT" ] || install -m 644 "$JOB_SUBMIT" /etc/slurm/job_submit.lua || return
    [ -n "$ALPS" ] || cgroup_conf >/etc/slurm/cgroup.conf
    install -d -o slurm -g slurm -m 755 /var/log/slurm /run/slurmctld /var/spool/slurmctld || return
    install -d -m 755 /var/spool/slurmd || return
    if [ "$CONTROLLERS" -gt 0 ]; then start_on_all slurmctld; else daemon_start slurmctld; fi
}

# The way a package would: configuration in /etc, the rest the daemon's own.
step_tautd() {
    install -m 644 "$TAUT_CONF" /etc/taut/taut.lua || return
    grep -Eq '^(topology|fabrics) *=' /etc/taut/taut.lua || { echo; topology_section; } >>/etc/taut/taut.lua
    [ "$WITH_SLURM" = yes ] || echo 'resource_manager = "alps"' >>/etc/taut/taut.lua || return
    install -d -o "$(daemon_user)" -m 755 /run/taut /var/lib/taut /var/log/taut || return
    taut_node | tr ' ' '\n' >/etc/taut/node.conf || return
    if [ "$CONTROLLERS" -gt 0 ]; then start_on_all tautd; else daemon_start tautd; fi
}

step_slurmds() {
    local n
    [ -z "$ALPS" ] || { daemon_start slurmd@ctl; return; }
    for ((n = 0; n < NODES; n++)); do
        daemon_start slurmd@n$n || return
    done
}

# Registered and answering: a node that has not been heard of is `idle*`.
idle_nodes() { sinfo -h -o "%T %D" 2>/dev/null | awk '$1 == "idle" { n += $2 } END { print n + 0 }'; }
all_idle() { [ "$(idle_nodes)" -eq "$NODES" ]; }

step_idle() {
    if wait_for 60 all_idle; then
        printf '%s nodes' "$NODES"
        return
    fi
    echo "after 60 s only $(idle_nodes) of $NODES nodes are idle; sinfo says:"
    sinfo -N -o '%N %T %E'
    echo "the last lines of slurmctld's log:"
    tail -n 20 /var/log/slurm/slurmctld.log
    return 1
}
