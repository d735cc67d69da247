"""Options of runs as models, from whose fields the command line is made. Nothing heavy is imported here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from livek12.core.engine_kinds import BUILT_IN, spelled_engine
from livek12.core.errors import UserError

if TYPE_CHECKING:
    from livek12.judges.jury import JudgeOptions

GROUPS = MODEL, TASK, SAMPLING, JUDGING, OUTPUT = "Model", "Task", "Sampling", "Judging", "Output"
"""Groups of options in `--help`."""
Stages = Literal["auto", "overlap", "turn"]
STAGES: tuple[Stages, ...] = get_args(Stages)


@dataclass(frozen=True)
class Flag:
    """Option of the command line, in the annotation of a field.

    `type` is that of the command line's value, if the field takes more.
    """

    group: str
    help: str
    name: str = ""
    min: float | None = None
    envvar: str | None = None
    metavar: str | None = None
    type: Any = None


@dataclass(frozen=True)
class RunOptions:
    """Model, the questions and the folder of a run.

    `engine_args` are given by name or as "K=V,…". Without `trials`, recorded answers are taken as often as they were
    recorded, and questions are asked as often as the tasks have it by default.
    """

    task: Annotated[str, Flag(TASK, "Task names, comma-separated; see `livek12 tasks`.")]
    model: Annotated[str, Flag(MODEL, "Model folder, Hub name, served name, or recorded file.")]
    out: Annotated[Path, Flag(OUTPUT, "Run folder; an unfinished run in it is resumed.")]
    data: Annotated[
        str, Flag(TASK, "Folder made by `livek12 build`, or ORG/NAME on the Hub.", envvar="LIVEK12_DATA")
    ] = ""
    engine: Annotated[str, Flag(MODEL, f"{BUILT_IN}.")] = "auto"
    engine_args: Annotated[str | Mapping[str, Any], Flag(MODEL, "Engine arguments: K=V,…", type=str)] = ""
    limit: Annotated[int | None, Flag(TASK, "Only the first N questions of a task.", min=1)] = None
    trials: Annotated[int | None, Flag(TASK, "Answers per question; default: the task's, usually 1.", min=1)] = None
    questions: Annotated[
        tuple[str, Path] | None, Flag(TASK, "Only the questions that the model failed in RUN.", metavar="failed-in RUN")
    ] = None
    sitting: Annotated[
        str, Flag(TASK, "Questions per request: one, or all of a section or of a paper (one, section, paper).")
    ] = "one"
    budgets: Annotated[
        str, Flag(SAMPLING, "Run each task once per token budget: shares of the task's, such as 0.1,0.5,1.")
    ] = ""

    name: Annotated[str, Flag(MODEL, "Display name of the model; default: from --model.")] = ""

    def __post_init__(self) -> None:
        engine, model = spelled_engine(self.engine, self.model)
        object.__setattr__(self, "engine", engine)
        object.__setattr__(self, "model", model)

    @property
    def tasks(self) -> str:
        """Names of the tasks with their sitting and budgets, comma-separated."""
        from livek12.tasks.registry import with_budgets, with_sitting

        return with_budgets(with_sitting(self.task, self.sitting), self.budgets)

    def with_trials(self) -> RunOptions:
        """Copy with the tasks' own number of trials, if none is given."""
        from livek12.tasks.registry import default_trials, get_tasks

        return self if self.trials else replace(self, trials=default_trials(get_tasks(self.tasks)))


@dataclass(frozen=True)
class SamplingOptions:
    """Sampling set over the defaults of the tasks."""

    max_tokens: Annotated[int | None, Flag(SAMPLING, "Token budget of an answer.", min=1)] = None
    temperature: Annotated[float | None, Flag(SAMPLING, "Sampling temperature.", min=0.0)] = None
    top_p: Annotated[float | None, Flag(SAMPLING, "Nucleus sampling: above 0, at most 1.")] = None
    top_k: Annotated[int | None, Flag(SAMPLING, "Sample from the N likeliest tokens; 0: from all.", min=0)] = None
    seed: Annotated[int | None, Flag(SAMPLING, "Seed of the first trial; each further trial adds 1.")] = None
    system_prompt: Annotated[str | None, Flag(SAMPLING, "System message before the question.")] = None
    thinking_budget: Annotated[int | None, Flag(SAMPLING, "Maximum thinking tokens of an answer.", min=0)] = None

    def given(self) -> dict[str, Any]:
        """Sampling parameters that are set."""
        from livek12.evaluation.task_data import sampling_set

        return sampling_set(vars(self))


@dataclass(frozen=True)
class JudgingOptions:
    """Judges as named; `judges` looks them up."""

    judge: Annotated[
        str,
        Flag(
            JUDGING,
            "Judge of answers that the rules leave undecided: MODEL[@ENGINE[:K=V,…]][,…], FILE.yaml, panel:NAME (see"
            " `livek12 tasks --judges`), or rules (no judge).",
        ),
    ] = "rules"
    judge_engine: Annotated[str, Flag(JUDGING, "Engine of judges that do not name one; default: auto.")] = ""
    judge_engine_args: Annotated[
        str | Mapping[str, Any], Flag(JUDGING, "Arguments for that engine: K=V,…", type=str)
    ] = ""
    judge_method: Annotated[
        str,
        Flag(
            JUDGING,
            "KMMMU's p1, p2, p3; count (right parts); marks (out of n); CFE's s2s (short answer and key; s2s_rules:"
            " after the rules), l2s, l2l (long ones); scheme (criteria); compass, xverify (published verifiers)."
            " Default: the task's, and scheme for questions with a marking scheme.",
        ),
    ] = ""
    judge_prompt: Annotated[
        str | Path, Flag(JUDGING, "Prompt file of a published verifier (compass, xverify).", type=str)
    ] = ""
    judge_scope: Annotated[
        str,
        Flag(
            JUDGING, "Answers that judges see: open (undecided by the rules; default) or all (the rules are ignored)."
        ),
    ] = ""
    judge_repeats: Annotated[
        int, Flag(JUDGING, "Number of verdicts per answer from judge models; the first one counts.", min=1)
    ] = 1
    cache: Annotated[bool, Flag(JUDGING, "Cache decisions and replies on disk.", name="--cache/--no-cache")] = True
    audit: Annotated[
        bool,
        Flag(JUDGING, "Let judges also audit the reasoning, if the task's article does.", name="--audit/--no-audit"),
    ] = True
    stages: Annotated[
        Stages,
        Flag(
            JUDGING,
            "overlap: mark during generation, all judges at once; turn: one after the other; auto: as memory allows.",
            type=str,
        ),
    ] = "auto"
    scheme_requests: Annotated[
        str, Flag(JUDGING, "Requests for the criteria of a marking scheme: one for all (default), or each.")
    ] = ""

    def judges(self, answers: str = "", data: str = "") -> JudgeOptions:
        """Unopened judges.

        `answers` is the dataset with the reference answers, if the run's questions have none; `data` its place, if it
        was moved.
        """
        from livek12.core.arguments import one_of
        from livek12.judges.jury import JudgeOptions

        one_of("--stages", self.stages, STAGES)
        panel, words = None, (self.judge_engine, self.judge_engine_args, self.judge_method, self.judge_prompt)
        if self.judge != "rules" or any((*words, self.judge_scope, self.scheme_requests)):
            from livek12.judges.llm.spec import parse_judge  # imports the engines, which rules do without

            panel = parse_judge(self.judge, *words, self.judge_scope, self.scheme_requests)
        if self.judge_repeats > 1 and panel is None:
            raise UserError("rules say the same every time: repeats go with --judge MODEL")
        together = self.stages == "overlap"
        return JudgeOptions(panel, answers, data, self.cache, self.audit, together=together, repeats=self.judge_repeats)
