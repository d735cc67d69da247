#!/usr/bin/env bash
# Tries on this machine's GPUs what tests can only fake: eight minutes by default, one line a point, nothing downloaded.
# Run it in an environment with the extra `vllm`: bash scripts/gpu_check.sh [--plan] [--minutes N] [POINT…]
exec "${PYTHON:-python3}" -m livek12.scripts.bench.gpu.check "$@"
