#!/usr/bin/env bash
# Tries the harnesses as docs/harnesses.md has them, before a release: for each an environment of its own, made by the
# page's own install line (with the CPU build of torch), in which the page's commands put the sample exam before small
# models, without the Hub; then `livek12 import-responses` takes the log, and its marks have to be the harness's.
#
#     bash scripts/test.sh harnesses [NAME…]      NAME: lm-eval, lmms-eval, inspect, lighteval or vlmevalkit
#
# Prints one line a harness. What it said, and its files, are in .venv-harness/NAME; environments are kept and brought
# up to date: rm -rf .venv-harness makes all of them anew.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh
unset PYTHONPATH
clone=$PWD root=$PWD/.venv-harness
declare -A titles=(
    [lm-eval]=lm-evaluation-harness [lmms-eval]=lmms-eval [inspect]=Inspect [lighteval]=lighteval [vlmevalkit]=VLMEvalKit
)

# into NAME WHAT…: installs into .venv-harness/NAME/venv, by uv where it can be had, else by pip.
into() {
    local folder=$root/$1/venv
    local -a cpu
    read -ra cpu <<<"$(cpu_torch)"
    echo torch==2.13.0 >"$root/constraints.txt" # of which there is a CPU build
    cpu+=(--constraint "$root/constraints.txt")
    [ -x "$folder/bin/python" ] || "${PYTHON:-python3}" -m venv "$folder"
    with_uv "$folder" pip install --python "$folder/bin/python" --reinstall-package livek12 "${cpu[@]}" "${@:2}" ||
        "$folder/bin/python" -m pip install "${cpu[@]}" "${@:2}"
}

# bench WORDS…: Python with what lies in scripts/bench, which no installed livek12 has.
bench() {
    PYTHONPATH=$clone/src${PYTHONPATH:+:$PYTHONPATH} python "$@"
}

# section NAME: what the page says of a harness; "how" of all.
section() {
    awk -v title="## ${titles[$1]:-Installing one}" '/^## /{here = ($0 == title)} here' docs/harnesses.md
}

# marks OUT TASK [WORDS…]: the import as documented, and its marks beside the harness's.
marks() {
    local out=$1 task=$2 run=run-$1-$2
    shift 2
    livek12 import-responses "$out" --from "$name" --task "$task" --data data --out "$run" "$@"
    if [ "$name" != inspect ]; then
        python -c 'import json, sys
for line in sys.stdin:
    row = json.loads(line)
    print(json.dumps({name: row[name] for name in ("question_id", "trial", "response", "reasoning") if name in row}))' \
            <"$run/imported.jsonl" >"$run-texts.jsonl"
        livek12 import-responses "$run-texts.jsonl" --task "$task" --data data --out "$run-texts"
        run=$run-texts
    fi
    bench "$clone/tests/bench/harness_marks.py" "$name" "$out" "$run" "$task"
}

try_lm-eval() {
    local tasks
    tasks=$(livek12 plugins lm-eval --data data)
    common=(--include_path "$tasks" --apply_chat_template --log_samples)
    lm_eval --model hf --model_args "pretrained=$models/tiny" --device cpu --tasks livek12_cfe_text "${common[@]}" \
        --output_path out --gen_kwargs max_gen_toks=16
    marks out cfe_text --tokenizer "$models/tiny"
    lm_eval --model hf-multimodal --model_args "pretrained=$models/tiny-qwen2.5-vl" --device cpu \
        --tasks livek12_cfe_multimodal "${common[@]}" --output_path pictures --gen_kwargs max_gen_toks=16
    marks pictures cfe_multimodal
    lm_eval --model local-chat-completions --model_args "model=$served,base_url=$url/chat/completions" \
        --tasks livek12_cfe_text "${common[@]}" --output_path endpoint --gen_kwargs max_gen_toks=200
    marks endpoint cfe_text --tokenizer "$models/served"
}

try_lmms-eval() {
    local tasks
    tasks=$(livek12 plugins lmms-eval --data data)
    lmms-eval --model qwen2_5_vl --model_args "pretrained=$models/tiny-qwen2.5-vl,device=cpu,device_map=cpu" \
        --include_path "$tasks" --tasks livek12_cfe_text,livek12_cfe_multimodal --log_samples --output_path out \
        --gen_kwargs max_new_tokens=16
    marks out cfe_text
    marks out cfe_multimodal
    OPENAI_API_KEY=none lmms-eval --model async_openai --model_args "model_version=$served,base_url=$url" \
        --include_path "$tasks" --tasks livek12_cfe_text --log_samples --output_path endpoint \
        --gen_kwargs max_new_tokens=200
    marks endpoint cfe_text
}

try_inspect() {
    LOCAL_API_KEY=none inspect eval livek12/cfe_text -T data=data --model "openai-api/local/$served" \
        --model-base-url "$url" --log-dir logs --max-tokens 200 --display plain
    marks logs cfe_text
}

try_lighteval() {
    # This environment's transformers reads the models that it wrote itself.
    bench - <<'PY'
import json, subprocess
from pathlib import Path
from livek12.scripts.bench.models import make_model
from livek12.tasks.plugins.lighteval import OFFLINE

subprocess.run(OFFLINE, shell=True, check=True)
for name in ("tiny", "tiny-qwen2.5-vl"):
    make_model(name, Path("models") / name)
config = Path("models/tiny-qwen2.5-vl/config.json")
told = json.loads(config.read_text())
told["text_config"]["rope_scaling"] = told["text_config"]["rope_parameters"]
config.write_text(json.dumps({**told, "rope_scaling": told["text_config"]["rope_scaling"]}))
PY
    export LIVEK12_DATA=data OPENAI_API_KEY=none
    common=(--custom-tasks livek12.tasks.plugins.lighteval --save-details)
    lighteval accelerate model_name=models/tiny,max_length=400,cache_dir=cache livek12_text_only "${common[@]}" \
        --output-dir out # questions in several splits
    marks out livek12_text_only --tokenizer models/tiny
    lighteval accelerate model_name=models/tiny-qwen2.5-vl,generation_size=16,cache_dir=cache livek12_cfe_multimodal \
        --vision-model "${common[@]}" --output-dir pictures
    marks pictures cfe_multimodal --tokenizer models/tiny-qwen2.5-vl
    lighteval endpoint litellm "provider=openai,model_name=openai/$served,base_url=$url,cache_dir=cache,\
generation_parameters={max_new_tokens:200}" livek12_cfe_text "${common[@]}" --output-dir endpoint
    marks endpoint cfe_text --max-tokens 200 --tokenizer "$models/served"
}

try_vlmevalkit() {
    LIVEK12_DATA=data LMUData=$PWD/lmu python -m livek12.tasks.plugins.vlmevalkit --data livek12_cfe_text \
        --model "$served" --base-url "$url" --work-dir out --max-tokens 200
    marks out cfe_text --tokenizer "$models/served"
}

# one NAME: the whole of it, in a process of its own.
one() {
    name=$1
    local line
    line=$(section "$name" | grep -m 1 '^pip install ') || { echo "docs/harnesses.md has no install line" && exit 1; }
    echo "+ $line"
    eval "into $name ${line#pip install}"
    rm -rf "$root/$name/tried" && mkdir -p "$root/$name/tried/shim"
    section how | awk '/^```$/{here = 0} here; /^```python$/{here = 1}' >"$root/$name/tried/shim/sitecustomize.py"
    export PATH=$root/$name/venv/bin:$PATH PYTHONPATH=$root/$name/tried/shim
    [ "$name" != inspect ] || unset PYTHONPATH # no torch
    export HF_HUB_OFFLINE=1 LITELLM_LOCAL_MODEL_COST_MAP=True TOKENIZERS_PARALLELISM=false
    cd "$root/$name/tried"
    livek12 build sample --out data
    set -x
    "try_$name"
}

# serve: makes the tiny models and serves a genuine small one; its address, when it is up, is in the file url.
serve() {
    into models '.[demo,transformers]' torchvision gguf
    rm -rf "$models" && mkdir -p "$models"
    export PYTHONPATH=$clone/src
    exec "$root/models/venv/bin/python" - "$models" <<'PY'
import signal, sys
from pathlib import Path
from livek12.engines.small_model import fetch_small_model, serve_gguf
from livek12.engines.torch_builds import mend_torch_builds
from livek12.scripts.bench.models import make_model

mend_torch_builds()
from transformers import AutoTokenizer

models = Path(sys.argv[1])
for name in ("tiny", "tiny-qwen2.5-vl"):
    make_model(name, models / name)
small = fetch_small_model(Path.home() / ".cache" / "livek12-tests")
AutoTokenizer.from_pretrained(small.parent, gguf_file=small.name).save_pretrained(models / "served")
with serve_gguf(small, slots=1) as url:
    (models / "part").write_text(url)
    (models / "part").rename(models / "url")
    signal.pause()
PY
}

models=$root/models/made served=SmolLM2-135M-Instruct
if [ "${1:-}" = --one ]; then
    url=$(cat "$models/url")
    one "$2"
    exit
fi
[ $# -gt 0 ] || set -- lm-eval lmms-eval inspect lighteval vlmevalkit
for name in "$@"; do
    [ -n "${titles[$name]:-}" ] || { echo "$name: no harness; there are ${!titles[*]}" && exit 2; }
done
mkdir -p "$root/models"
rm -f "$models/url"
serve >"$root/models/log" 2>&1 &
server=$!
trap 'kill $server 2>/dev/null || true' EXIT
until [ -f "$models/url" ]; do
    kill -0 $server 2>/dev/null || { echo "the small models could not be made or served: $root/models/log" && exit 1; }
    sleep 1
done
failed=0
for name in "$@"; do
    start=$SECONDS
    mkdir -p "$root/$name"
    if bash "$0" --one "$name" >"$root/$name/log" 2>&1; then
        echo "$name: ok, $(grep -c 'the same marks' "$root/$name/log") logs with the same marks, $((SECONDS - start)) s"
    else
        failed=1
        echo "$name: failed after $((SECONDS - start)) s: $(tail -n 1 "$root/$name/log" | cut -c 1-200) ($root/$name/log)"
    fi
done
exit $failed
