# SPDX-License-Identifier: Apache-2.0
"""slurmdbd and its database for a cluster of slurm_cluster.py, so that Slurm knows accounts and their shares."""
import os
import shutil
import subprocess

from slurm_cluster import free_ports
from tarn_test import read_file, wait_until

PROGRAMS = ("slurmdbd", "mariadbd", "sacctmgr")
TABLES = "/usr/share/mysql/mysql_system_tables.sql"


def missing():
    for program in PROGRAMS:
        if not shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin"):
            return f"{program} is not installed (slurmdbd, slurm-wlm-mysql-plugin, mariadb-server-core)"
    return None


def prepare(cluster):
    """Before the cluster starts."""
    cluster.database_port, cluster.accounting_port = free_ports(2)
    with open(cluster.conf, "a") as file:
        file.write(f"""AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={cluster.accounting_port}
AccountingStoragePass={cluster.root}/munge.sock
AccountingStorageEnforce=associations,qos
AccountingStorageTRES=gres/gpu
""")
    path = os.path.join(cluster.root, "slurmdbd.conf")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
        file.write(f"""AuthType=auth/munge
AuthInfo=socket={cluster.root}/munge.sock
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={cluster.accounting_port}
SlurmUser=root
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={cluster.database_port}
StorageUser=slurm
StoragePass=slurm
StorageLoc=slurm
PidFile={cluster.root}/dbd.pid
LogFile={cluster.root}/log/dbd.log
""")


def start(cluster, *commands):
    """After munged, before slurmctld. commands: of sacctmgr."""
    data = os.path.join(cluster.root, "database")
    os.mkdir(data)
    options = ["--no-defaults", "--user=root", f"--datadir={data}", "--skip-grant-tables"]
    words = "create database mysql;\nuse mysql;\n" + read_file(TABLES)
    subprocess.run(["mariadbd", *options, "--bootstrap"], input=words, text=True, check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, env=cluster.environment(), timeout=120)
    cluster.launch("mariadbd", "mariadbd", *options, "--bind-address=127.0.0.1", f"--port={cluster.database_port}", f"--socket={cluster.root}/database.sock",
                   f"--pid-file={cluster.root}/database.pid", "--innodb-flush-log-at-trx-commit=0")
    wait_until("the database listens", lambda: os.path.exists(os.path.join(cluster.root, "database.sock")))
    cluster.launch("slurmdbd", "slurmdbd", "-D")
    wait_until("slurmdbd answers", lambda: "rror" not in cluster.run("sacctmgr", "-n", "list", "cluster"))
    manage(cluster, *commands)


def manage(cluster, *commands):
    """Commands of sacctmgr. Those about GPUs need a slurmctld that has reported them."""
    for command in commands:
        said = cluster.run("sacctmgr", "-i", *command.split())
        assert "rror" not in said, said
