#!/bin/bash
#SBATCH --job-name=gfxgraph-check
#SBATCH --array=1-8
#SBATCH --cpus-per-task=1
#SBATCH --output=parts/%a.log
#
# A Slurm job array that checks many traces; docs/production/shards.md. In a folder that all nodes have:
#   mkdir -p parts && sbatch --wait samples/cluster/array.sh --tool all *.gfxg
#   gfxgraph merge parts/*.part --format json -o report.json
# Shards that merge says are missing: sbatch --array=3,5 with the same arguments. SHARDS, if it is not 8, goes with
# --array: SHARDS=20 sbatch --array=1-20.
exec gfxgraph check --shard "$SLURM_ARRAY_TASK_ID/${SHARDS:-8}" --threads "${SLURM_CPUS_PER_TASK:-1}" \
  -o "parts/$SLURM_ARRAY_TASK_ID.part" "$@"
