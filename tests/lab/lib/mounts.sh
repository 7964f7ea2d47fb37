# SPDX-License-Identifier: GPL-2.0-or-later
# The lab's own file systems.  Everything a daemon writes to is a tmpfs of
# this mount namespace; the rest of the machine is seen as it is.

tmpfs() { mount -t tmpfs -o "mode=${2:-755},nosuid" lab "$1"; }

# A private copy of /etc: small, and users, hosts and configuration are then
# at the paths where everybody looks for them.
own_etc() {
    mkdir -p $LAB_RUN/etc && cp -a /etc/. $LAB_RUN/etc/ || return
    mount --bind $LAB_RUN/etc /etc || return
    rm -rf /etc/slurm /etc/munge /etc/taut /etc/ld.so.preload
    mkdir -m 755 /etc/slurm /etc/taut
    printf 'passwd: files\ngroup: files\nshadow: files\nhosts: files\n' \
        >/etc/nsswitch.conf
    hosts_file >/etc/hosts
    echo ctl >/etc/hostname
}

hosts_file() {
    local n
    printf '127.0.0.1 localhost\n172.30.0.1 ctl\n'
    for ((n = 0; n < NODES; n++)); do
        echo "${CONTROL_ADDRESS[n]} $(node_host $n) n$n"
    done
    controller_hosts
}

# What is in /var/lib stays visible, read-only, beside the lab's own folders.
own_var_lib() {
    local entry
    mkdir -p $LAB_RUN/var-lib && mount --bind /var/lib $LAB_RUN/var-lib &&
        mount -o remount,bind,ro $LAB_RUN/var-lib && tmpfs /var/lib || return
    for entry in "$LAB_RUN"/var-lib/*; do
        case ${entry##*/} in
        munge | slurm | taut) ;;
        *) ln -s "$entry" /var/lib/ ;;
        esac
    done
}

# A private /dev, for the sake of /dev/log.
own_dev() {
    local dev
    mkdir $LAB_RUN/dev && tmpfs $LAB_RUN/dev || return
    for dev in null zero full random urandom tty; do
        touch $LAB_RUN/dev/$dev && mount --bind /dev/$dev $LAB_RUN/dev/$dev || return
    done
    mkdir $LAB_RUN/dev/pts $LAB_RUN/dev/shm || return
    mount --bind /dev/pts $LAB_RUN/dev/pts || return
    mount -t tmpfs -o mode=1777,nosuid,nodev lab $LAB_RUN/dev/shm || return
    ln -s pts/ptmx $LAB_RUN/dev/ptmx
    ln -s /proc/self/fd $LAB_RUN/dev/fd
    ln -s /proc/self/fd/0 $LAB_RUN/dev/stdin
    ln -s /proc/self/fd/1 $LAB_RUN/dev/stdout
    ln -s /proc/self/fd/2 $LAB_RUN/dev/stderr
    if [ -d /dev/infiniband ]; then
        mkdir $LAB_RUN/dev/infiniband &&
            mount --bind /dev/infiniband $LAB_RUN/dev/infiniband || return
    fi
    mount --rbind $LAB_RUN/dev /dev
}

# Daemons that are not root must reach Taut where it was built, below /root
# say: a folder on the way that only its owner may enter is covered by one
# with the same folders in it that all may enter.
open_way() {
    local at='' part
    while IFS= read -r -d / part; do
        [ -n "$part" ] || continue
        at=$at/$part
        [ $((0$(stat -c %a "$at") & 1)) -eq 1 ] || cover "$at" || return
    done <<<"$1/"
}

cover() {
    local aside=$LAB_RUN/aside$1 folder
    mkdir -p "$aside" && mount --rbind "$1" "$aside" && tmpfs "$1" || return
    for folder in "$aside"/*/; do
        folder=$(basename "$folder")
        mkdir "$1/$folder" && mount --rbind "$aside/$folder" "$1/$folder" || return
    done
}

# A Slurm that was built to look for its configuration below its own prefix
# finds the lab's there.
own_slurm() {
    cover "$1" || return
    if [ -d "$1/etc" ]; then
        umount "$1/etc" && rmdir "$1/etc" || return
    fi
    ln -s /etc/slurm "$1/etc"
}

# Two ordinary users, with homes every node sees; and whom streams run as.
own_users() {
    local user uid=30001
    mkdir -p /var/spool/home
    for user in alice bob taut; do
        sed -i "/^$user:/d" /etc/passwd /etc/group /etc/shadow
        while getent passwd $uid >/dev/null || getent group $uid >/dev/null; do
            uid=$((uid + 1))
        done
        echo "$user:x:$uid:$uid::/var/spool/home/$user:/bin/bash" >>/etc/passwd
        echo "$user:x:$uid:" >>/etc/group
        echo "$user:*:19000:0:99999:7:::" >>/etc/shadow
        install -d -o $uid -g $uid -m 755 /var/spool/home/$user
    done
}

own_programs() {
    local program
    for program in labstream labsyslog ${ALPS:+alps/labaprun}; do
        [ -x "$LAB_BINDIR/${program##*/}" ] && continue
        mkdir -p $LAB_RUN/bin
        cc -O2 -o "$LAB_RUN/bin/${program##*/}" "$LAB_DIR/$program.c" || return
    done
}

# A new sysfs shows the interfaces of the network namespace it is mounted in;
# slurmd wants a folder for cgroups there.
own_sys() {
    mount -t sysfs lab /sys && mount -t tmpfs -o mode=755 lab /sys/fs/cgroup
}

# First of all steps: standard input is the configuration.
step_mounts() {
    tmpfs /run || return
    mkdir -p $LAB_RUN/pid $LAB_RUN/faults $LAB_RUN/load /run/lock \
        /run/netns || return
    cat >$LAB_RUN/conf && load_conf || return
    hostname ctl && ip link set lo up && own_sys && own_etc && own_var_lib &&
        tmpfs /var/log && tmpfs /var/spool && own_dev && own_users || return
    [ "$WITH_SLURM" = no ] || [ -z "$SLURM_PREFIX" ] || own_slurm "$SLURM_PREFIX" || return
    [ -z "$TAUT_PREFIX" ] || open_way "$TAUT_PREFIX" || return
    mkdir -p /var/log/lab && own_programs || return
    spawn syslog "$(lab_program labsyslog)" /dev/log /var/log/syslog
    wait_for 5 test -S /dev/log
}

# With --bond nodes find their interfaces by themselves, by
# hardware and speed, which veth has not.  Everything else below sys/class/net is
# the kernel's.
own_hardware() {
    local name file speed net=/sys/devices/virtual/net
    tmpfs /sys/class/net || return
    for name in "$net"/*; do
        name=${name##*/}
        case $name in
        eth0) speed=1000 ;;
        port*) speed=25000 ;;
        hsn0) speed=25000; [ ! -e $net/port0 ] || speed='' ;;
        *) speed='' ;;
        esac
        if [ -z "$speed" ]; then
            ln -s "$net/$name" /sys/class/net/ || return
            continue
        fi
        mkdir "/sys/class/net/$name" "/sys/class/net/$name/device" || return
        for file in "$net/$name"/*; do
            case ${file##*/} in
            device | speed | carrier) ;;
            *) ln -s "$file" "/sys/class/net/$name/" || return ;;
            esac
        done
        echo $speed >"/sys/class/net/$name/speed"
        echo 1 >"/sys/class/net/$name/carrier"
    done
}

# One node's own view, held by a process that does nothing else.  (Files
# bound to the namespaces would do without it, but some kernels refuse such a
# bind at random: they number namespaces per processor, and take one with a
# lower number for a loop.)
step_nodes() {
    local n
    for ((n = 0; n < NODES; n++)); do
        spawn "node@n$n" nsenter --net=/run/netns/n$n -- \
            unshare --mount --uts --propagation private \
            "$LAB_DIR/lab" --inside step node_mounts n$n
    done
    for ((n = 0; n < NODES; n++)); do
        wait_for 20 test -e $LAB_RUN/run.n$n/ready ||
            { cat /var/log/lab/node@n$n.out; return 1; }
    done
}

# /run of a node is a folder of the lab's own, so that the controller can look
# into it; only MUNGE's socket is shared.
step_node_mounts() {
    local own=$LAB_RUN/run.$1
    hostname "$(node_host "${1#n}")" && own_sys || return
    [ "$BOND" -eq 0 ] || own_hardware || return
    mkdir -p "$own/munge" "$own/lock" || return
    if [ -d /run/munge ] && [ -z "$ALPS" ]; then
        mount --bind /run/munge "$own/munge" || return
    fi
    mount --rbind "$own" /run && : >/run/ready || return
    exec -a "lab-node $1" sleep infinity
}
