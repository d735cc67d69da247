"""SWEEP.yaml is read strictly, and nothing in it reaches a shell or leaves its folder."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from livek12.core.errors import UserError
from livek12.core.records import Call, Key, Response, Verdict
from livek12.core.run.sessions import Session
from livek12.engines import parse_engine_args
from livek12.evaluation.sweep import SweepPlan, as_engine_args, read_plan, safe_label
from livek12.evaluation.sweep.slurm import scripts
from livek12.evaluation.sweep.status import BY_NUMBER, BY_SECONDS, BY_TOKENS, Work, bills
from tests.scripts.command import ROOT, livek12_here

GOOD: dict[str, Any] = {"out": "runs/x", "tasks": ["cfe_text"], "models": [{"name": "org/m"}]}


def plan_of(folder: Path, **said: Any) -> SweepPlan:
    file = folder / "sweep.yaml"
    file.write_text(yaml.safe_dump({**GOOD, **said}, allow_unicode=True))
    return read_plan(file)


def model(**said: Any) -> list[dict[str, Any]]:
    return [{"name": "org/m", **said}]


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ({"outt": "x"}, "outt: there is no such key; there are audit, backend,"),
        ({"out": ""}, "out: is empty"),
        ({"out": "--help"}, "out: '--help' looks like an option"),
        ({"tasks": []}, "tasks: [] should"),
        ({"tasks": "cfe_text"}, "tasks: 'cfe_text' should be"),
        ({"tasks": ["cfe_txt"]}, "tasks: unknown task 'cfe_txt': did you mean cfe_text"),
        ({"tasks": ["cfe_text,kmmmu"]}, "tasks[0]: 'cfe_text,kmmmu': write each task"),
        ({"trials": 0}, "trials: 0 should be greater than or equal to 1"),
        ({"trials": "4"}, "trials: '4' should be"),
        ({"trials": True}, "trials: True should be"),
        ({"backend": "k8s"}, "backend: 'k8s' should be 'local', 'ray', 'slurm' or 'hf-jobs'"),
        ({"slurm": {"partition": "a b; rm"}}, "slurm.partition: 'a b; rm' is not a name that Slurm takes"),
        ({"slurm": {"time": "soon"}}, "slurm.time: 'soon' is not a time that Slurm takes"),
        ({"slurm": {"sbatch": ["qos=long"]}}, "slurm.sbatch[0]: 'qos=long' is not an option of sbatch"),
        ({"slurm": {"setup": ["a\nb"]}}, "slurm.setup[0]: holds a line break"),
        ({"slurm": {"judging": {"gpu": 1}}}, "slurm.judging.gpu: there is no such key; there are cpus, gpus"),
        ({"price_per_gpu_hour": -1}, "price_per_gpu_hour: -1 should be greater"),
        ({"price_per_gpu_hour": float("nan")}, "price_per_gpu_hour: '.nan' should be"),
        ({"sampling": {"max_token": 3}}, "sampling.max_token: there is no such key; there are max_tokens"),
        ({"judge": "m"}, "judge: "),
        ({"profile": "mine"}, "profile: unknown profile 'mine': choose one of"),
        ({"budgets": [0]}, "budgets[0]: 0 should be greater than 0"),
        ({"models": []}, "models: [] should"),
        ({"models": [{}]}, "models[0].name: is missing"),
        ({"models": [{"name": 7}]}, "models[0].name: 7 should be string; write it in quotes"),
        ({"models": model(gpus=-1)}, "models[0].gpus: -1 should be"),
        ({"models": model(gpus=1.5)}, "models[0].gpus: 1.5: a part of a GPU"),
        ({"models": model(engine="gpt")}, "models[0].engine: 'gpt': choose one of"),
        ({"models": model(memory="lots")}, "models[0].memory: 'lots' is not a size"),
        ({"models": model(env={"A B": "x"})}, "models[0].env: 'A B' is not the name of an environment variable"),
        ({"models": model(env={"A": "x\ny"})}, "models[0].env.A: holds a line break"),
        ({"models": model(env={"A": 1})}, "models[0].env.A: 1 should be string; write it in quotes"),
        (
            {"models": model(engine_args={"api_key": "x"})},
            "models[0].engine_args.api_key: a key or password does not belong",
        ),
        *(
            ({"models": model(engine="openai", engine_args=args)}, f"models[0].engine_args.{name}: a key or password")
            for name, args in (
                ("base_url", {"base_url": "https://me:sk-secret@host/v1"}),
                ("base_url", {"base_url": "https://host/v1?api-key=sk-secret"}),
                ("extra_body", {"extra_body": {"headers": {"Authorization": "Bearer sk-secret"}}}),
            )
        ),
        ({"models": model(env={"OPENAI_API_KEY": "sk-secret"})}, "models[0].env.OPENAI_API_KEY: a key or password"),
        ({"models": model(env={"HF_TOKEN": "sk-secret"})}, "models[0].env.HF_TOKEN: a key or password"),
        ({"models": model(env={"OPENAI_BASE_URL": "http://me:sk-secret@h"})}, "models[0].env.OPENAI_BASE_URL: a key"),
        ({"models": model(env="HF_TOKEN=sk-secret")}, "models[0].env: should be"),
        ({"models": model(engine_args="api_key=sk-secret")}, "models[0].engine_args: should be"),
        ({"judge": "j@openai:base_url=http://h/v1,api_key=sk-secret"}, "judge: j.api_key: a key or password"),
        (
            {"models": model(engine="openai", engine_args={"apikey": "sk-secret"})},
            "models[0].engine_args.apikey: a key",
        ),
        ({"models": model(engine="openai", engine_args={"concurency": 3})}, "the openai engine takes no argument"),
        ({"models": model(engine_args={"ray": "auto"})}, "models[0].engine_args.ray: say it beside engine_args"),
        ({"models": model(engine_args={"a": "x,b=y"})}, "models[0].engine_args.a: 'x,b=y' cannot be written"),
        ({"models": model(engine_args={"a=b": "x"})}, "models[0].engine_args"),
        ({"models": model(label="../..")}, "models[0]: '../..' makes no folder name"),
        ({"models": [*model(), *model(engine="vllm")]}, "models[1]: has the label of models[0], 'm'; give one of them"),
        ({"models": [*model(), {"name": "x", "label": "M"}]}, "models[1]: has the label of models[0], 'M'"),
        ({"models": model(tasks=["nope"])}, "models[0].tasks: unknown task 'nope'"),
        ({"models": model(gpus=1), "local": {"parallel": 2}}, "models[0].gpus: several models at a time"),
        ({"models": model(gpus=1), "backend": "ray", "ray": {"parallel": 2}}, "models[0].gpus: several models"),
        ({"models": model(gpus=0.5), "backend": "slurm"}, "models[0].gpus: 0.5: a part of a GPU"),
        ({"models": model(replicas=1025)}, "models[0].replicas: 1025 should be less than or equal to 1024"),
        (
            {"judge": "m", "judge_engine_args": {"api_key": "x"}},
            "judge_engine_args.api_key: a key or password does not belong",
        ),
        ({"models": model(env={"A": "b"}), "backend": "ray", "ray": {"address": "h:1"}}, "models[0].env: does not"),
    ],
)
def test_a_mistake_is_one_line_with_the_path_of_its_key(said: dict[str, Any], line: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as wrong:
        plan_of(tmp_path, **said)
    told = str(wrong.value)
    assert told.startswith(f"{tmp_path / 'sweep.yaml'}: {line}") or f": {line}" in told, told
    assert "\n" not in told and "sk-secret" not in told


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("out: [", "sweep.yaml:"),
        ("- a", "is not a mapping"),
        ("out: a\nout: b\ntasks: [cfe_text]\nmodels: [{name: m}]", "sweep.yaml:2: 'out' is given twice"),
        ("a: &x [1]\nb: *x", "sweep.yaml:2: aliases are not taken"),
        ("a: !!python/object/apply:os.system ['true']", "sweep.yaml:1: could not determine a constructor"),
        ("out: '\\x00'\n\x00", "sweep.yaml"),
        ("[" * 1500, "sweep.yaml"),
        ("? [a]\n: b", "sweep.yaml"),
        ("out: !!bool x", "is not what its tag says"),
        ("out: !!timestamp foo", "is not what its tag says"),
        ("out: !!int ''", "is not what its tag says"),
    ],
)
def test_what_is_not_plain_yaml_is_refused(text: str, line: str, tmp_path: Path) -> None:
    (tmp_path / "sweep.yaml").write_text(text)
    ended = livek12_here("sweep", tmp_path / "sweep.yaml", "--dry-run")
    assert ended.code == 2
    assert len(ended.errors) == 1 and line in ended.errors[0], ended.err


@pytest.mark.parametrize("value", ["!!timestamp 2001-01-01", "!!set {a, b}", "!!binary eHg="])
def test_an_engine_argument_is_a_plain_value(value: str, tmp_path: Path) -> None:
    file = tmp_path / "sweep.yaml"
    file.write_text(f"out: x\ntasks: [cfe_text]\nmodels: [{{name: m, engine_args: {{a: {value}}}}}]")
    with pytest.raises(UserError, match=r"engine_args\.a: .* cannot be written as an engine argument"):
        read_plan(file)


def test_what_other_libraries_teach_yaml_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = yaml.SafeLoader.yaml_constructors
    monkeypatch.setitem(read, "tag:yaml.org,2002:timestamp", read["tag:yaml.org,2002:str"])
    test_an_engine_argument_is_a_plain_value("!!timestamp 2001-01-01", tmp_path)


def test_recorded_answers_of_any_kind_need_no_place(tmp_path: Path) -> None:
    (tmp_path / "responses-0.jsonl").touch()
    entry = {"name": str(tmp_path), "label": "x", "replicas": 3}
    (run,) = plan_of(tmp_path, backend="ray", ray={"address": "h:1"}, models=[entry]).runs
    assert (run.engine, run.engine_args) == ("replay", {})


def test_times_are_texts(tmp_path: Path) -> None:
    file = tmp_path / "sweep.yaml"
    file.write_text("out: x\ntasks: [cfe_text]\nmodels: [{name: no, time: 12:00:00, memory: 64G}]")
    (run,) = read_plan(file).runs
    assert (run.label, run.entry.time) == ("no", "12:00:00")


def test_what_the_docs_show_is_read(tmp_path: Path) -> None:
    shown = re.findall(r"^```yaml\n(.*?)^```", (ROOT / "docs" / "cluster.md").read_text(), re.DOTALL | re.MULTILINE)
    backends = []
    for number, text in enumerate(shown):
        file = tmp_path / f"{number}.yaml"
        file.write_text(text)
        backends.append(read_plan(file).sweep.backend)
    assert backends == ["local", "ray", "hf-jobs", "slurm"]


def test_a_model_overrides_the_sweep(tmp_path: Path) -> None:
    own = {"tasks": ["mdk12"], "trials": 8, "sampling": {"seed": 3}, "price_per_gpu_hour": 4, "limit": 2}
    plan = plan_of(
        tmp_path,
        models=[*model(), {"name": "other", **own}],
        trials=2,
        sampling={"temperature": 0.5},
        price_per_gpu_hour=1,
        budgets=[],
    )
    first, second = plan.runs
    assert (first.price, second.price) == (1, 4)
    assert {"--trials=2", "--temperature=0.5", "--task=cfe_text"} <= {*first.ask}
    assert {"--trials=8", "--temperature=0.5", "--seed=3", "--limit=2"} <= {*second.ask}
    assert second.tasks[0].startswith("mdk12") and "cfe_text" not in second.tasks


def test_a_published_verifier_judges_with_the_prompt_that_is_named(tmp_path: Path) -> None:
    prompt = tmp_path / "compass.txt"
    prompt.write_text("{{question}} {{reference}} {{response}}")
    judge = {"judge": "j@openai:base_url=http://h/v1", "judge_method": "compass"}
    (run,) = plan_of(tmp_path, **judge, judge_prompt=str(prompt)).runs
    assert {"--judge-method=compass", f"--judge-prompt={prompt}"} <= {*run.mark}
    with pytest.raises(UserError, match="judge: method compass has no prompt of ours"):
        plan_of(tmp_path, **judge)


def test_budgets_make_tasks(tmp_path: Path) -> None:
    (run,) = plan_of(tmp_path, tasks=["livek12_text_only_en"], budgets=[0.1, 1]).runs
    assert run.tasks == ["livek12_text_only_en@0.1", "livek12_text_only_en@1"]


@pytest.mark.parametrize(
    ("backend", "entry", "args"),
    [
        ("local", {"engine": "vllm", "gpus": 4}, {"tensor_parallel_size": "4"}),
        ("local", {"gpus": 4}, {"gpus": "4"}),
        ("local", {"gpus": 1}, {}),
        ("local", {"gpus": 4, "engine_args": {"pipeline_parallel_size": 4}}, {"pipeline_parallel_size": "4"}),
        ("ray", {"gpus": 4}, {"ray": "h:1", "replicas": "1", "gpus": "4"}),
        ("slurm", {"gpus": 4, "replicas": 2}, {"gpus": "4"}),
        ("local", {"engine": "vllm", "replicas": 2, "gpus": 1}, {"replicas": "2", "gpus": "1"}),
        ("local", {"engine": "transformers"}, {}),
        ("ray", {"engine": "vllm", "replicas": 3}, {"ray": "h:1", "replicas": "3"}),
        ("ray", {"engine": "vllm", "gpus": 0}, {"ray": "h:1", "replicas": "1", "gpus": "0"}),
        ("ray", {"env": {"OPENAI_BASE_URL": "http://h/v1"}, "replicas": 3}, {}),
        ("ray", {"engine": "openai", "replicas": 3}, {}),
        ("ray", {"engine": "vllm", "engine_args": {"base_url": "http://h/v1"}}, {"base_url": "http://h/v1"}),
        ("ray", {"name": "answers.jsonl"}, {}),
        ("slurm", {"engine": "vllm", "replicas": 3, "gpus": 2}, {"tensor_parallel_size": "2"}),
    ],
)
def test_what_places_replicas(backend: str, entry: dict[str, Any], args: dict[str, str], tmp_path: Path) -> None:
    (run,) = plan_of(tmp_path, backend=backend, ray={"address": "h:1"}, models=[{"name": "m", **entry}]).runs
    said = [word.removeprefix("--engine-args=") for word in run.ask if word.startswith("--engine-args=")]
    assert parse_engine_args("".join(said)) == args


@given(st.text())
def test_a_label_is_one_safe_folder(text: str) -> None:
    label = safe_label(text)
    assert label == Path(label).name and not label.startswith((".", "-", "_"))
    assert not set(label) & set("/\\ '\"$`;&|<>*?\n\0")
    assert len(label.encode()) <= 80
    assert safe_label(label) == label


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=20)
)


@given(
    st.dictionaries(
        st.from_regex(r"[a-z_]{1,8}", fullmatch=True), st.one_of(VALUES, st.lists(VALUES, max_size=3)), max_size=4
    )
)
def test_engine_arguments_arrive_as_they_were_or_are_refused(args: dict[str, Any]) -> None:
    try:
        written = as_engine_args(args, "here")
    except UserError as error:
        assert str(error).startswith("here")
        return
    read = parse_engine_args(written)
    assert read.keys() == args.keys()
    for name, value in args.items():
        assert (
            read[name] == value if isinstance(value, str) else json.loads(read[name].replace("none", "null")) == value
        )


NASTY = [
    "$(touch pwned)",
    "`touch pwned`",
    "a'; touch pwned; '",
    'b" && touch pwned',
    "-x --out=/",
    "模型 %A \\n",
    "*",
    "~",
]


def test_nothing_of_the_file_is_read_by_a_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scripts are run by bash with a program in the place of livek12 that writes down what it was given."""
    monkeypatch.chdir(tmp_path)
    recorder = tmp_path / "record it.py"
    recorder.write_text(
        "import json, os, sys\n"
        "with open('seen.jsonl', 'a') as seen:\n"
        "    print(json.dumps([sys.argv[1:], os.environ.get('HOSTILE')]), file=seen)\n"
    )
    models = [
        {
            "name": f"m/{nasty}",
            "label": f"{number} {nasty}",
            "env": {"HOSTILE": nasty},
            "engine_args": {"x": nasty.replace('"', "")},
        }
        for number, nasty in enumerate(NASTY)
    ]
    plan = plan_of(
        tmp_path,
        out="it's $(touch pwned) here",
        data="$(touch pwned)",
        backend="slurm",
        slurm={"command": [sys.executable, str(recorder)], "account": "a", "setup": ["export GREETING=hello"]},
        models=models,
    )
    ask, finish = scripts(plan, plan.runs)
    plan.work.mkdir(parents=True)
    for number, run in enumerate(plan.runs):
        (plan.out / run.label).mkdir()
        (run.folder / "run.json").touch()
        done = run_script(ask.text, SLURM_ARRAY_TASK_ID=str(number), SLURM_ARRAY_JOB_ID="7", SLURM_JOB_ID="7")
        assert done.returncode == 0, done.stderr
        note = json.loads((plan.work / f"{run.label}.0.json").read_text())
        assert (note["by"], note["code"]) == (f"Slurm job 7_{number}", 0)
    assert run_script(finish.text, SLURM_JOB_ID="8").returncode == 0
    assert not list(tmp_path.rglob("pwned*"))
    seen = [json.loads(line) for line in (tmp_path / "seen.jsonl").read_text().splitlines()]
    assert seen[: len(NASTY)] == [[["generate", *run.ask], run.entry.env["HOSTILE"]] for run in plan.runs]
    steps = [step for run in plan.runs for step in run.steps]
    assert [words for words, _ in seen[len(NASTY) :]] == [*steps, ["sweep", str(plan.work / "sweep.yaml"), "--report"]]


def run_script(text: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", text],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, **environment},
    )


def test_a_script_says_what_the_file_says(tmp_path: Path) -> None:
    same = {"gpus": 2, "cpus": 8, "memory": "64G", "time": "04:00:00"}
    plan = plan_of(
        tmp_path,
        backend="slurm",
        slurm={"partition": "gpu", "parallel": 4, "sbatch": ["--qos=long"], "judging": {"gpus": 1, "time": "1:00:00"}},
        models=[
            {"name": "a", "replicas": 2, **same},
            {"name": "b", **same},
            {"name": "c", "gpus": 8, "sbatch": ["--partition=big"]},
        ],
    )
    first, second, finish = (script.text for script in scripts(plan, plan.runs))
    for option in ("--array=0-2%4", "--partition=gpu", "--gres=gpu:2", "--cpus-per-task=8", "--mem=64G", "--qos=long"):
        assert f"#SBATCH {option}\n" in first
    assert first.count(shlex.quote(f"--out={plan.out}/a")) == 2, "two replicas share a folder"
    assert second.index("--partition=gpu") < second.index("--partition=big"), "the model's own comes later, and counts"
    assert "#SBATCH --gres=gpu:1\n" in finish and "#SBATCH --time=1:00:00\n" in finish and "--array" not in finish


def test_dry_run_prints_commands_that_can_be_typed(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, models=model(env={"A": "x y"}, label="one two"))
    ended = livek12_here("sweep", plan.file, "--dry-run")
    assert ended.code == 0
    variable, command, *words = shlex.split(ended.out)
    assert (variable, command, words) == ("A=x y", "livek12", plan.runs[0].whole)
    assert not plan.out.exists()


def session(stage: str, hours: float, gpus: float, engine: str = "vllm", ended: bool = True) -> Session:
    return Session.model_validate(
        {
            "id": f"{stage}{hours}",
            "stage": stage,
            "engine": engine,
            "model": "m",
            "gpus": gpus,
            "host": "h",
            "pid": 1,
            "started": 0.0,
            "at": hours * 3600,
            "ended": ended,
        }
    )


def work(*responses: tuple[float | None, int | None], judging: float = 0.0) -> Work:
    done = Work()
    for trial, (seconds, tokens) in enumerate(responses):
        key = Key(task="t", question_id="q", trial=trial)
        response = Response(key=key, text="", engine="e", model="m", seconds=seconds, completion_tokens=tokens)
        call = Call(judge="j", prompt="p", raw="x", seconds=judging)
        verdict = Verdict(
            key=key, state="graded", points=1, low=1, high=1, max_points=1, correct=True, judge="j", calls=[call]
        )
        done.add(response, verdict)
    return done


@pytest.mark.parametrize(
    ("a", "b", "share", "how"),
    [
        (work((3.0, 10)), work((1.0, 90)), 0.75, BY_SECONDS),
        (work((3.0, 10)), work((None, 90)), 0.1, BY_TOKENS),
        (work((3.0, None), (1.0, 1)), work((None, 90)), 2 / 3, BY_NUMBER),
        (work(), work(), 0.5, BY_NUMBER),
    ],
)
def test_hours_are_shared_out_whole(a: Work, b: Work, share: float, how: str) -> None:
    sessions = [session("generate", 2, 4), session("generate", 1, 2, ended=False), session("judge", 1, 8)]
    found = bills(sessions, {"a": a, "b": b}, price=2.0)
    judged = found["a"].judging_gpu_hours
    assert found["a"].gpu_hours == pytest.approx(10 * share + judged)
    assert found["a"].cost == pytest.approx(2 * (10 * share + judged))
    assert sum(bill.gpu_hours or 0 for bill in found.values()) == pytest.approx(18)
    assert sum(bill.hours for bill in found.values()) == pytest.approx(4)
    assert found["a"].shared_by == how


def test_judging_is_shared_out_by_the_judges_time() -> None:
    found = bills([session("judge", 1, 8)], {"a": work((1, 1), judging=3), "b": work((1, 1), judging=1)}, 1.0)
    assert (found["a"].judging_gpu_hours, found["b"].cost) == (6, 2)


def test_a_cost_that_nobody_knows_is_none() -> None:
    assert bills([session("generate", 1, 1)], {"a": work((1, 1))}, None)["a"].cost is None
    elsewhere = bills([session("generate", 1, 0, engine="openai")], {"a": work((1, 1))}, 2.0)["a"]
    assert elsewhere.gpu_hours is None and elsewhere.cost is None
