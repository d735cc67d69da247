"""How today's open families think: their tags as tokens, what their chat templates open, and what they then write.

Each family has the tokens of its published tokenizer that matter here (special ones are dropped by decoding), a chat
template of ours that ends the prompt as the published one does, and answers with thinking on, off and cut short.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

THOUGHT, ANSWER = "Two and two", "It is 4."


@dataclass(frozen=True)
class Family:
    """A family.

    Attributes:
        end: the token that ends an answer; special.
        special: further special tokens.
        plain: tokens that are one token and are not dropped by decoding.
        opening: what the template puts after the question, by whether the model is to think.
        on, off: what the model then writes, without its end; `on` holds THOUGHT and ANSWER.
    """

    end: str
    opening: tuple[str, str]
    on: str
    off: str = ANSWER
    special: tuple[str, ...] = ()
    plain: tuple[str, ...] = ()
    switch: str = "enable_thinking"

    @property
    def thinks(self) -> bool:
        return THOUGHT in self.on

    @property
    def cut(self) -> str:
        """What it has written when it is cut in the middle of its thoughts."""
        return self.on[: self.on.index(THOUGHT) + len(THOUGHT) - 2]

    @property
    def template(self) -> str:
        on, off = self.opening
        turns = "{% for m in messages %}{{ m['content'] }}{% endfor %}"
        wanted = f"{self.switch} is not defined or {self.switch}"
        return f"{turns}{{% if add_generation_prompt %}}{{{{ {on!r} if {wanted} else {off!r} }}}}{{% endif %}}"


_QWEN = {"end": "<|im_end|>", "special": ("<|im_start|>",), "plain": ("<think>", "</think>")}
_QWEN_TURN = "<|im_start|>assistant\n"
_SHUT = "<think>\n\n</think>\n\n"
FAMILIES = {
    "qwen3": Family(
        opening=(_QWEN_TURN, _QWEN_TURN + _SHUT), on=f"<think>\n{THOUGHT}\n</think>\n\n{ANSWER}", **_QWEN
    ),
    "qwen3-vl-thinking": Family(
        opening=(f"{_QWEN_TURN}<think>\n", _QWEN_TURN), on=f"{THOUGHT}\n</think>\n\n{ANSWER}", **_QWEN
    ),
    "internvl3.5": Family(
        opening=(_QWEN_TURN, _QWEN_TURN), on=f"<think>\n{THOUGHT}\n</think>\n{ANSWER}", **_QWEN
    ),
    "deepseek-v3.1": Family(
        end="<｜end▁of▁sentence｜>",
        special=("<｜User｜>", "<｜Assistant｜>"),
        plain=("<think>", "</think>"),
        switch="thinking",
        opening=("<｜Assistant｜><think>", "<｜Assistant｜></think>"),
        on=f"{THOUGHT}</think>{ANSWER}",
    ),
    "gpt-oss": Family(
        end="<|return|>",
        special=("<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|constrain|>", "<|call|>"),
        opening=("<|start|>assistant", "<|start|>assistant"),
        on=f"<|channel|>analysis<|message|>{THOUGHT}<|end|><|start|>assistant<|channel|>final<|message|>{ANSWER}",
        off=f"<|channel|>final<|message|>{ANSWER}",
    ),
    "glm-4.5": Family(
        end="<|user|>",
        special=("<|assistant|>", "[gMASK]"),
        plain=("<think>", "</think>"),
        opening=("<|assistant|>", "<|assistant|>\n<think></think>"),
        on=f"\n<think>{THOUGHT}</think>\n{ANSWER}",
    ),
    "gemma4": Family(
        end="<turn|>",
        special=("<|turn>", "<|channel>", "<channel|>", "<|think|>"),
        opening=("<|turn>model\n", "<|turn>model\n<|channel>thought\n<channel|>"),
        on=f"<|channel>thought\n{THOUGHT}<channel|>{ANSWER}",
    ),
    "llama": Family(
        end="<|eot_id|>",
        special=("<|start_header_id|>", "<|end_header_id|>"),
        opening=("<|start_header_id|>assistant<|end_header_id|>\n\n",) * 2,
        on=ANSWER,
    ),
    "magistral": Family(
        end="</s>", special=("[THINK]", "[/THINK]", "[INST]", "[/INST]"), opening=("[/INST]", "[/INST]"),
        on=f"[THINK]{THOUGHT}[/THINK]{ANSWER}",
    ),
    "kimi-k2-thinking": Family(
        end="<|im_end|>",
        special=("<|im_assistant|>", "<|im_middle|>"),
        plain=("<think>", "</think>"),
        opening=("<|im_assistant|>assistant<|im_middle|>",) * 2,
        on=f"<think>{THOUGHT}</think>{ANSWER}",
    ),
    "kimi-vl-thinking": Family(
        end="<|im_end|>", opening=("<|im_assistant|>assistant<|im_middle|>",) * 2,
        on=f"◁think▷{THOUGHT}◁/think▷{ANSWER}",
    ),
    "exaone-4": Family(
        end="[|endofturn|]",
        plain=("<think>", "</think>"),
        opening=("[|assistant|]\n<think>\n", f"[|assistant|]\n{_SHUT}"),
        on=f"{THOUGHT}\n</think>\n\n{ANSWER}",
    ),
}  # fmt: skip


def tokenizer_of(family: Family) -> Any:
    """A small tokenizer of bytes with the family's tokens and template."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import Qwen2TokenizerFast

    bytes_ = sorted(pre_tokenizers.ByteLevel.alphabet())
    core = Tokenizer(models.BPE({sign: number for number, sign in enumerate(bytes_)}, []))
    core.pre_tokenizer, core.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    core.add_tokens(
        [AddedToken(token, special=True, normalized=False) for token in ("<pad>", family.end, *family.special)]
    )
    core.add_tokens([AddedToken(token, special=False, normalized=False) for token in family.plain])
    ends = {"bos_token": None, "eos_token": family.end, "pad_token": "<pad>", "unk_token": None}
    return Qwen2TokenizerFast(tokenizer_object=core, chat_template=family.template, **ends)
