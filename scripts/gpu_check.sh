#!/usr/bin/env bash
# Tries on this machine's GPUs what tests can only fake: at most ten minutes, one line a point, nothing downloaded.
# Run it in an environment with the extra `vllm`: bash scripts/gpu_check.sh [POINT…]
exec "${PYTHON:-python3}" "$(dirname "$0")/bench/gpu_check.py" "$@"
