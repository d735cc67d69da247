"""Who is drawn, what votes add up to, and what a panel never does."""

from __future__ import annotations

from collections import Counter

import pytest

from livek12.core import progress
from livek12.core.errors import UserError
from livek12.judges.llm.methods import PartVote
from livek12.judges.llm.panel import add_up
from livek12.judges.llm.spec import Rule
from tests.engines.helpers import picture
from tests.engines.scripted_server import Reply, error, serving
from tests.judges.helpers import question
from tests.judges.llm.helpers import marked, panel_scorer
from tests.judges.llm.judge_server import JudgeScript, counted, says, text_of

ESSAY = question("open_ended", id="e", question="«e» Why is the sky blue?", answer=["Rayleigh scattering"], points=6.0)


def voting(**votes: object) -> JudgeScript:
    """Each judge says what stands beside its name: a truth value, a reply, or a list of replies in turn."""

    def answer(name: str, before: int, body: dict[str, object]) -> Reply:
        said = votes[str(body["model"])]
        said = said[min(before, len(said) - 1)] if isinstance(said, list) else said
        return said if isinstance(said, Reply) else says(counted(bool(said)))

    return JudgeScript(answer)


def asked_judges(script: JudgeScript) -> list[str]:
    return sorted(str(seen.body["model"]) for seen in script.seen)


@pytest.mark.parametrize(
    ("rule", "scores", "decision", "score"),
    [
        ("mean", [1, 1, 0], "accept", 2 / 3), ("mean", [1, 0, 0], "reject", 1 / 3), ("mean", [0.5, 0], "reject", 0.25),
        ("mean", [1, 0], "undecided", None), ("mean", [1], "accept", 1), ("mean", [0.5], "reject", 0.5),
        ("majority", [1, 1, 0], "accept", 1), ("majority", [1, 0.5, 0], "reject", 0.25),
        ("majority", [1, 0], "undecided", None),
        ("unanimous", [1, 1, 1], "accept", 1), ("unanimous", [1, 1, 0], "undecided", None),
        ("unanimous", [0, 0.5], "reject", 0.25),
    ],
)  # fmt: skip
def test_what_votes_add_up_to(rule: Rule, scores: list[float], decision: str, score: float | None) -> None:
    votes = [PartVote("accept" if score == 1 else "reject", score) for score in scores]
    said, found, _ = add_up(votes, rule)
    assert said == decision
    assert found == (None if score is None else pytest.approx(score))


def test_three_votes_are_kept_with_what_they_cost() -> None:
    script = voting(alpha=True, beta=True, gamma=False)
    with serving(script) as address, panel_scorer(address, "alpha beta gamma", spread=None) as panel:
        verdict = marked(ESSAY, "Because of scattering.", panel)
    (part,) = verdict.parts
    assert (verdict.state, verdict.correct, part.decided_by) == ("graded", True, "panel")
    assert verdict.points == pytest.approx(4.0)
    assert {vote.judge: vote.decision for vote in part.votes} == {
        "alpha": "accept",
        "beta": "accept",
        "gamma": "reject",
    }
    assert all(vote.raw and "parts" in vote.raw for vote in part.votes)
    assert sum(call.prompt_tokens or 0 for call in verdict.calls) == 300
    assert all(call.seconds is not None for call in verdict.calls)
    assert "livek12_count" in verdict.calls[0].prompt


def test_the_draw_follows_the_question_and_uses_the_whole_pool() -> None:
    script = voting(alpha=True, beta=True, gamma=True, delta=True)
    draws = []
    with serving(script) as address:
        for _ in range(2):
            with panel_scorer(address, "alpha beta gamma delta", size=3) as panel:
                drawn = [
                    frozenset(
                        v.judge for v in marked(ESSAY.model_copy(update={"id": f"e{n}"}), "So.", panel).parts[0].votes
                    )
                    for n in range(30)
                ]
            draws.append(drawn)
    assert draws[0] == draws[1]
    assert {len(drawn) for drawn in draws[0]} == {3}
    counts = Counter(name for drawn in draws[0] for name in drawn)
    assert set(counts) == {"alpha", "beta", "gamma", "delta"}
    assert len(set(draws[0])) == 4


@pytest.mark.parametrize(
    ("author", "judges"),
    [
        ("Qwen/Qwen3-8B", ["gpt-x"]),
        ("/models/qwen3-8b.Q4_K_M.gguf", ["gpt-x"]),
        ("gpt-4o", ["Qwen3-8B", "Qwen3-VL"]),
        ("my-model", ["Qwen3-8B", "Qwen3-VL", "gpt-x"]),
        ("my-tuned-qwen", ["gpt-x"]),
    ],
)
def test_never_the_model_under_test_nor_its_family(author: str, judges: list[str]) -> None:
    script = JudgeScript(lambda name, before, body: says(counted(True)))
    with serving(script) as address, panel_scorer(address, "Qwen3-8B Qwen3-VL gpt-x") as panel:
        verdict = marked(ESSAY, "So.", panel, author)
    assert sorted(vote.judge for vote in verdict.parts[0].votes) == judges


@pytest.mark.parametrize(
    ("author", "judges", "line"),
    [
        ("Qwen3-8B", "2 judges mark each answer, not 3", "GPT-x, Gemma-3"),
        ("my-model", "", "3 of Qwen3-VL, GPT-x, Gemma-3, GLM-4"),
        ("glm-4.5", "", "Qwen3-VL, GPT-x, Gemma-3"),
    ],
)
def test_who_is_left_of_a_panel_is_said_and_named(
    author: str, judges: str, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    names = "Qwen3-VL GPT-x Gemma-3" + (" GLM-4" if author != "Qwen3-8B" else "")
    progress._said.clear()
    with serving(voting()) as address, panel_scorer(address, names, size=3) as scorer:
        scorer.panel.check([author], 3)
        scorer.panel.check([author], 3)
        assert scorer.panel.members([author], 3) == line
    told = capsys.readouterr().err
    assert told.count("judges mark each answer") == bool(judges), "said once, and only where judges are missing"
    assert judges in told and ("Qwen3-VL: not asked about Qwen3-8B" in told) == bool(judges)


def test_a_family_may_be_allowed_and_declared_but_never_the_model_itself() -> None:
    script = JudgeScript(lambda name, before, body: says(counted(True)))
    with serving(script) as address:
        with panel_scorer(address, "qwen3-8b qwen3-32b", exclude_family=False) as panel:
            verdict = marked(ESSAY, "So.", panel, "Qwen3-8B-AWQ")
        assert [vote.judge for vote in verdict.parts[0].votes] == ["qwen3-32b"]
        with panel_scorer(address, "qwen3-8b gpt-x", families={"mine": "qwen"}) as panel:
            verdict = marked(ESSAY, "So.", panel, "mine")
        assert [vote.judge for vote in verdict.parts[0].votes] == ["gpt-x"]
        with panel_scorer(address, "qwen3-8b") as panel:
            with pytest.raises(UserError, match="never itself nor its family"):
                panel.panel.check(["Qwen3-8B"], None)
            assert marked(ESSAY, "So.", panel, "Qwen3-8B").state == "ungraded"


def test_unknown_families_are_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    script = JudgeScript(lambda name, before, body: says(counted(True)))
    with serving(script) as address, panel_scorer(address, "alpha gpt-x") as panel:
        for _ in range(3):
            marked(ESSAY, "So.", panel, "mystery")
    warned = [record.getMessage() for record in caplog.records if "family of" in record.getMessage()]
    assert len(warned) == 2


def test_below_the_quorum_nothing_is_decided_and_the_reason_names_each_failure() -> None:
    script = voting(alpha=True, beta=error(500, "overloaded"), gamma=says("I will not say."))
    with serving(script) as address, panel_scorer(address, "alpha beta gamma") as panel:
        verdict = marked(ESSAY, "So.", panel)
    assert (verdict.state, verdict.points, verdict.correct) == ("ungraded", None, None)
    assert (verdict.low, verdict.high) == (0.0, 6.0)
    assert "1 of 3 votes, 2 needed" in verdict.reason
    assert "500" in verdict.reason and "not one JSON object" in verdict.reason


def test_votes_far_apart_are_judged_again_by_those_not_drawn() -> None:
    script = voting(alpha=True, beta=True, gamma=False, delta=False, epsilon=False)
    rules = {"size": 3, "spread": 0.5, "extra": 2, "rule": "majority"}
    with serving(script) as address, panel_scorer(address, "alpha beta gamma delta epsilon", **rules) as panel:
        verdict = marked(ESSAY, "So.", panel)
    assert asked_judges(script) == ["alpha", "beta", "delta", "epsilon", "gamma"]
    assert verdict.correct is False
    assert "judged again" in verdict.parts[0].reason


def test_where_all_are_drawn_they_are_asked_anew_with_another_seed() -> None:
    script = voting(alpha=[True, False], beta=[False, False])
    with serving(script) as address, panel_scorer(address, "alpha beta", spread=0.5, extra=2) as panel:
        verdict = marked(ESSAY, "So.", panel)
    assert asked_judges(script) == ["alpha", "alpha", "beta", "beta"]
    assert len({seen.body["seed"] for seen in script.seen}) == 2
    assert verdict.correct is False


def test_only_what_the_rules_left_open_is_asked() -> None:
    script = JudgeScript(lambda name, before, body: says(counted(True)))
    blanks = question(
        "fill_in_blank", question="«b» x = ____, because ____ .", answer=["4", "the sum of the squares is fixed"]
    )
    with serving(script) as address, panel_scorer(address) as panel:
        verdict = marked(blanks, r"\boxed{4} \boxed{squares add up to a constant}", panel)
        assert marked(question("single_choice", answer=["A"]), r"\boxed{A}", panel).calls == []
    assert [part.decided_by for part in verdict.parts] == ["number", "llm"]
    assert len(script.seen) == 1
    text = text_of(script.seen[0].body)
    assert "(blank or sub-question 2) the sum of the squares is fixed" in text
    assert "(blank or sub-question 1)" not in text


def test_open_questions_are_read_sub_question_by_sub_question_with_their_points() -> None:
    script = JudgeScript(lambda name, before, body: says(counted(True, False, True)))
    asked = question(
        "open_ended", question="«o» (1) (2) (3)", answer=["a", "b", "c"], part_points=[2, 4, 6], points=12.0,
        solution="The reference solution says so.",
    )  # fmt: skip
    with serving(script) as address, panel_scorer(address) as panel:
        verdict = marked(asked, "A long answer.", panel)
    assert verdict.points == 8.0
    assert verdict.correct is False
    assert "The reference solution says so." in text_of(script.seen[0].body)


def test_a_count_by_the_judge_itself_is_worth_its_share() -> None:
    script = JudgeScript(lambda name, before, body: says(counted(True, False, True, True)))
    with serving(script) as address, panel_scorer(address) as panel:
        assert marked(ESSAY, "Because.", panel).points == pytest.approx(4.5)


def test_a_response_without_an_answer_for_the_rules_is_read_unless_it_was_cut_short() -> None:
    script = JudgeScript(lambda name, before, body: says(counted(False)))
    asked = question("fill_in_blank", question="«n» x = ____", answer=["4"])
    prose = "Let us think.\n\nWe could square both sides.\n\nThen the claim would follow in a moment."
    with serving(script) as address, panel_scorer(address) as panel:
        assert marked(asked, prose, panel).state == "graded"
        assert marked(asked, prose, panel, finish="length").state == "no_answer"
        assert marked(asked, "<think>it is 4", panel).state == "no_answer"
    assert len(script.seen) == 1


def test_judges_see_the_pictures_and_not_the_thinking() -> None:
    script = JudgeScript(lambda name, before, body: says(counted(True)))
    asked = ESSAY.model_copy(update={"question": "«p» See <image>", "images": [picture("red")]})
    with serving(script) as address:
        with panel_scorer(address) as panel:
            marked(asked, "<think>secret thoughts</think>It scatters.", panel)
        kinds = [part["type"] for part in script.seen[0].body["messages"][1]["content"]]
        assert kinds == ["text", "image_url", "text"]
        assert "secret" not in text_of(script.seen[0].body)
        with panel_scorer(address, images=False) as panel:
            marked(asked, "It scatters.", panel)
        assert isinstance(script.seen[1].body["messages"][1]["content"], str)


def test_a_picture_that_is_not_at_hand_leaves_the_question_open() -> None:
    from livek12.core.records import Image

    script = JudgeScript(lambda name, before, body: says(counted(True)))
    asked = ESSAY.model_copy(update={"images": [Image(path="0" * 64)]})
    with serving(script) as address, panel_scorer(address) as panel:
        verdict = marked(asked, "It scatters.", panel)
    assert verdict.state == "ungraded"
    assert "picture" in verdict.reason
    assert script.seen == []
