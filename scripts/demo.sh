#!/usr/bin/env bash
# The main job on a fresh machine: sets up .venv (no torch), then a small real model sits the sample exam.
# Further arguments go to `livek12 demo`.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh
start=$SECONDS
echo "== 1/2 set-up: .venv with livek12 and a light CPU runtime for the model"
environment .venv --editable '.[demo]'
echo "== set-up took $((SECONDS - start)) s"
echo "== 2/2 livek12 demo"
begin=$SECONDS
.venv/bin/livek12 demo "$@"
echo "== the exam took $((SECONDS - begin)) s, everything $((SECONDS - start)) s"
