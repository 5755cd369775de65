#!/usr/bin/env bash
# Runs what `sprag plan` prints in the programs that it is for: scripts/fleet.sh BINARY
#
# Two nodes of Slurm on this computer measure a small suite, as the arrays of the plan say, and the history takes up what they
# write. The Jobs of Kubernetes are checked against its published schema; no cluster runs them. Installs Slurm with apt and the
# schema with pip, and says `skipped` where that is not possible. Needs root.
set -euo pipefail

binary=$(realpath "${1:?usage: scripts/fleet.sh BINARY}")
skip() { echo "skipped: $*"; exit 0; }

if ! command -v slurmctld slurmd munged sbatch >/dev/null; then
  [ "$(id -u)" = 0 ] || skip "Slurm is not installed, and only root can install it"
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends slurm-wlm munge >/dev/null 2>&1 ||
    skip "Slurm cannot be installed"
fi
[ "$(id -u)" = 0 ] || skip "only root can start Slurm with a configuration of its own"

folder=$(mktemp -d)
pids=()
finish() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$folder"
}
trap finish EXIT

# A project with a program that measures itself, and its plan.
mkdir "$folder/project" && cd "$folder/project"
git init -q && git config user.name fleet && git config user.email fleet@localhost
cat >sprag.toml <<'END'
[project]
name = "fleet"
[suites.short]
kind = "command"
command = ["sleep", "0.1"]
format = "time"
[suites.long]
kind = "cpu"
include = ["tile_pack", "tile_ssm_scan"]
END
git add . && git commit -qm "Start" && mkdir results
cat >fleet.toml <<'END'
image = "registry.example.org/bench:1"
volume = "results"
[[machine]]
name = "bench-1"
class = "x"
[[machine]]
name = "bench-2"
class = "x"
[shards]
long = 2
[suites]
short = ["bench-1", "bench-2"]
END
git add . && git commit -qm "List the machines"
"$binary" plan --machines fleet.toml

slurm="$folder/slurm" && mkdir -p "$slurm"/{state,bench-1,bench-2}
head -c 1024 /dev/urandom >"$slurm/key" && chmod 400 "$slurm/key"
cores=$(nproc)
cat >"$slurm/slurm.conf" <<END
ClusterName=fleet
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=16817
SlurmUser=root
AuthInfo=socket=$slurm/munge.socket
StateSaveLocation=$slurm/state
SlurmdSpoolDir=$slurm/%n
SlurmctldPidFile=$slurm/slurmctld.pid
SlurmdPidFile=$slurm/%n/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
ReturnToService=2
NodeName=bench-1 NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=17001 CPUs=$cores
NodeName=bench-2 NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=17002 CPUs=$cores
PartitionName=all Nodes=ALL Default=YES State=UP
END
PATH=$(dirname "$binary"):$PATH
export PATH SLURM_CONF="$slurm/slurm.conf"
chmod 755 "$folder" "$slurm"
munged --foreground --force --key-file "$slurm/key" --socket "$slurm/munge.socket" --pid-file "$slurm/munge.pid" \
  --log-file "$slurm/munge.log" --seed-file "$slurm/munge.seed" >"$slurm/munged.log" 2>&1 &
pids+=($!)
for _ in $(seq 50); do [ -S "$slurm/munge.socket" ] && break; sleep 0.1; done
slurmctld -D >"$slurm/slurmctld.log" 2>&1 &
pids+=($!)
for node in bench-1 bench-2; do
  slurmd -D -N "$node" >"$slurm/$node.log" 2>&1 &
  pids+=($!)
done
for _ in $(seq 60); do
  [ "$(sinfo -h -N -o %T 2>/dev/null | grep -c idle)" = 2 ] && break
  sleep 1
done
sinfo -N || { tail -5 "$slurm"/*.log; exit 1; }

"$binary" plan --machines fleet.toml --format slurm >plan.sh
sh plan.sh
for _ in $(seq 300); do
  [ -z "$(squeue -h)" ] && break
  sleep 1
done
squeue -h | grep . && { tail -5 "$slurm"/*.log; exit 1; }
ls ./*.bench-*.json
"$binary" history add ./*.bench-*.json
"$binary" history log
"$binary" plan --machines fleet.toml
files=(./*.bench-*.json)
[ "${#files[@]}" -ge 3 ]

"$binary" plan --machines fleet.toml --format kubernetes >jobs.json
if ! { python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install kubernetes-validate; } >/dev/null 2>&1; then
  skip "the schema of Kubernetes cannot be installed"
fi
"$folder/venv/bin/python" - jobs.json <<'END'
import json, sys, kubernetes_validate
jobs = json.load(open(sys.argv[1]))["items"]
for job in jobs:
    kubernetes_validate.validate(job, kubernetes_validate.latest_version(), strict=True)
print(f"{len(jobs)} Jobs follow the schema of Kubernetes {kubernetes_validate.latest_version()}")
END
