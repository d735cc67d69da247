"""What the transformers engine does to token scores: watches them for NaN, and draws each row with its own seed.

Contract: a row is drawn by the Gumbel-max trick from a generator of its own, so it does not depend on what else is in
the batch (rounding apart); a row whose scores hold no finite maximum is remembered and ended, and its tokens from there
on mean nothing.
"""

from __future__ import annotations

from typing import Any

from livek12.core.records import Sampling


class NanWatch:
    """Notes at which step a row's scores were NaN or infinite, and ends that row there.

    One object is both a logits processor and a stopping criterion of one batch; it never makes the device wait.
    """

    def __init__(self) -> None:
        self._step = 0
        self._since: Any = None

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Takes and returns scores of shape (rows, vocabulary), unchanged."""
        import torch

        # The greatest score is NaN where any is; a row without a finite greatest one has no next token.
        broken = ~torch.isfinite(scores.amax(dim=-1))
        if self._since is None:
            self._since = torch.full(broken.shape, -1, dtype=torch.long, device=scores.device)
        self._since = torch.where((self._since < 0) & broken, self._step, self._since)
        self._step += 1
        return scores

    def ends(self, input_ids: Any, scores: Any, **more: Any) -> Any:
        """Which rows are to end, as a boolean of shape (rows,)."""
        return (self._since >= 0).to(input_ids.device)

    def broken_at(self) -> list[int]:
        """For each row the step (from 0) of its first broken scores; -1 where there are none."""
        return [] if self._since is None else [int(step) for step in self._since.tolist()]


def score_steps(sampling: Sampling, defaults: Any, seeds: list[int], watch: NanWatch | None = None) -> Any:
    """What scores go through before the greatest is taken: the watch, and the draw unless the request is greedy.

    argmax(logits + Gumbel noise) is a draw from softmax(logits) (Gumbel 1954; Maddison et al. 2014).

    Args:
        sampling: of the batch.
        defaults: the model's generation config, for what the request leaves open.
        seeds: one a row.
        watch: of this batch.
    """
    from transformers import LogitsProcessorList, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

    steps = LogitsProcessorList([watch] if watch else [])
    temperature = sampling.temperature
    if temperature is None:
        temperature = (getattr(defaults, "temperature", None) or 1.0) if defaults.do_sample else 0.0
    if temperature <= 0:
        return steps
    steps.append(TemperatureLogitsWarper(float(temperature)))
    top_k = getattr(defaults, "top_k", None) if sampling.top_k is None else sampling.top_k
    top_p = getattr(defaults, "top_p", None) if sampling.top_p is None else sampling.top_p
    if top_k and top_k > 0:
        steps.append(TopKLogitsWarper(top_k))
    if top_p is not None and top_p < 1:
        steps.append(TopPLogitsWarper(top_p))
    steps.append(_Noise(seeds))
    return steps


class _Noise:
    """Adds Gumbel noise to the logits, each row from a generator of its own."""

    def __init__(self, seeds: list[int]) -> None:
        self._seeds = seeds
        self._generators: list[Any] = []

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Takes and returns logits of shape (rows, vocabulary)."""
        import torch

        if not self._generators:
            self._generators = [torch.Generator(scores.device).manual_seed(seed) for seed in self._seeds]
        drawn = [torch.empty_like(scores[0]).exponential_(generator=g) for g in self._generators]
        return scores - torch.stack(drawn).log()
