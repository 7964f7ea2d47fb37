# SPDX-License-Identifier: GPL-2.0-or-later
# A slurmctld by itself, without nodes: what it makes of a topology.
# TAUT_SLURM_PREFIX names another Slurm than the installed one.

ctld_setup() {
    cd "$BATS_TEST_TMPDIR"
    dir=$PWD
    ctld_pid=
    [ -z "$TAUT_SLURM_PREFIX" ] ||
        PATH=$TAUT_SLURM_PREFIX/sbin:$TAUT_SLURM_PREFIX/bin:$PATH
    slurmctld=$(PATH=$PATH:/usr/sbin:/sbin command -v slurmctld) ||
        skip "slurmctld is not installed"
    command -v scontrol >/dev/null || skip "scontrol is not installed"
    [ "$(id -u)" -eq 0 ] || skip "slurmctld runs as root here"
    mkdir state spool
}

# ctld_need MAJOR MINOR: skip before that release.
ctld_need() {
    local version major minor
    version=$("$slurmctld" -V | sed 's/.* //')
    IFS=. read -r major minor _ <<<"$version"
    [ "$((major * 100 + 10#$minor))" -ge "$(($1 * 100 + $2))" ] ||
        skip "slurmctld $version; this came with $1.$(printf %02d "$2")"
}

ctld_teardown() {
    [ -z "$ctld_pid" ] || {
        disown "$ctld_pid" 2>/dev/null || true
        kill -KILL "$ctld_pid" 2>/dev/null || true
    }
}

# A port without a listener.
free_port() {
    local port
    while :; do
        port=$((20000 + RANDOM % 20000))
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
    done
    echo "$port"
}

# ctld_start TOPOLOGYPLUGIN NODELINE...: writes slurm.conf and starts it; the
# folder's topology.conf is read.  Its log is ctld.log.
ctld_start() {
    local plugin=$1
    shift
    cat >slurm.conf <<END
ClusterName=taut
SlurmctldHost=$(hostname)(127.0.0.1)
SlurmctldPort=$(free_port)
SlurmUser=root
AuthType=auth/none
CredType=cred/none
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool
SlurmctldPidFile=$dir/ctld.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
TopologyPlugin=$plugin
$(printf '%s\n' "$@")
PartitionName=p Nodes=ALL Default=YES
END
    export SLURM_CONF=$dir/slurm.conf
    "$slurmctld" -D -c -f "$SLURM_CONF" >ctld.log 2>&1 &
    ctld_pid=$!
    local i
    for i in $(seq 100); do
        scontrol show config >/dev/null 2>&1 && return 0
        kill -0 "$ctld_pid" 2>/dev/null || break
        sleep 0.1
    done
    cat ctld.log
    return 1
}

# What slurmctld complained about in the topology.
complaints() {
    grep -iE 'switch|topology|node name|tree|block' ctld.log | grep -iE 'error|fatal|warn' || true
}
