#!/bin/bash
# For machines that ssh reaches without a password, without a scheduler:
#   bash ssh_nodes.sh HOST HOST ... [-- option of the training ...]
# All machines need the same programs, and this folder at the same path. They use the environment of
# this shell's python.
set -euo pipefail

hosts=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do hosts+=("$1"); shift; done
[ "${1:-}" = -- ] && shift
[ ${#hosts[@]} -gt 0 ] || { echo "name the machines: bash $0 HOST HOST ..." >&2; exit 2; }

port=${PORT:-29400} run=${RUN_FOLDER:-$PWD/run} python=$(command -v python)
mkdir -p "$run"
agents=()
# when this script ends, so do the agents; with -tt a remote agent ends with its connection
trap 'kill "${agents[@]}" 2>/dev/null || true' EXIT

# Each start of the ranks gets its own store. In a shared one, new ranks may find the addresses of
# the old ones, and a restart fails.
store=TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1
for number in "${!hosts[@]}"; do
    command=(env "$store" "$python" -m torch.distributed.run --nnodes "${#hosts[@]}" --nproc-per-node 2
        --max-restarts 3 --rdzv-backend c10d --rdzv-id digits
        --rdzv-endpoint "${hosts[0]}:$port" --rdzv-conf "is_host=$((number == 0))"
        -m gpulearn_lessons.fault_tolerance.train
        --checkpoint "$run/run.pt" --resume "$run/run.pt" --output "$run/losses.json" "$@")
    # %q: ssh joins its arguments into one line, which a shell parses again on the other side
    ssh -tt "${hosts[number]}" "cd $(printf %q "$PWD") && exec $(printf '%q ' "${command[@]}")" \
        </dev/null &
    agents+=($!)
done

# the first agent that fails ends all of them; those that succeed do not
for _ in "${agents[@]}"; do
    wait -n || exit $?
done
