# SPDX-License-Identifier: GPL-2.0-or-later
# Accounting of the lab's Slurm (--accounting): slurmdbd over a MariaDB server of its own, whose
# socket and files are in the lab's /run.

accounting_folder=/run/accounting

check_accounting() {
    [ "$WITH_SLURM$ALPS" = yes ] || die "--accounting needs Slurm, and no ALPS"
    [ "$CONTROLLERS" -eq 0 ] || die "--accounting does not go with --controllers"
    need_program slurmdbd
    need_program mariadbd
    need_program mariadb-install-db
}

accounting_conf() {
    cat <<CONF
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=ctl
AccountingStoreFlags=job_comment
CONF
}

slurmdbd_conf() {
    cat <<CONF
AuthType=auth/munge
DbdHost=ctl
DbdAddr=172.30.0.1
SlurmUser=slurm
LogFile=/var/log/slurm/slurmdbd.log
PidFile=$accounting_folder/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=slurm
StorageLoc=slurm_acct_db
CONF
}

run_mariadbd() {
    exec mariadbd --no-defaults --datadir=$accounting_folder/data --tmpdir=$accounting_folder \
        --socket=/run/mysqld/mysqld.sock --skip-networking --skip-grant-tables --user=slurm \
        --innodb-flush-log-at-trx-commit=2 --innodb-lock-wait-timeout=900 --innodb-buffer-pool-size=64M
}

database_answers() { [ -S /run/mysqld/mysqld.sock ]; }
accounting_answers() { ss -Hltn 'sport = :6819' | grep -q .; }

step_accounting() {
    install -d -o slurm -g slurm -m 755 $accounting_folder /run/mysqld /var/log/slurm || return
    mariadb-install-db --no-defaults --datadir=$accounting_folder/data --user=slurm \
        --skip-test-db --auth-root-authentication-method=normal >/dev/null || return
    slurmdbd_conf >/etc/slurm/slurmdbd.conf && chown slurm /etc/slurm/slurmdbd.conf &&
        chmod 600 /etc/slurm/slurmdbd.conf || return
    daemon_start mariadbd && daemon_start slurmdbd
}
