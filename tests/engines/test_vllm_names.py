"""Every name of vLLM that the engine relies on, looked up in the sources of each version at hand: nothing is imported.

The installed vLLM is read, and each folder in LIVEK12_VLLM_SOURCES (an unpacked wheel of another version: `pip download
--no-deps vllm==X` and unzip), so that a version can be read before anybody installs it.
"""

from __future__ import annotations

import ast
import configparser
import importlib.util
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import ROOT

SUPPORTED = ("0.32", "0.33")
"""Versions whose sources have all these names."""

CLASSES = {
    "entrypoints/llm.py:LLM": "<OfflineInferenceMixin> get_tokenizer get_default_sampling_params llm_engine "
    "__init__(model, tokenizer, revision, tokenizer_revision, tensor_parallel_size, dtype, enforce_eager, kwargs)",
    "entrypoints/common/offline.py:OfflineInferenceMixin": "_preprocess_chat_one(conversation, chat_template_kwargs)",
    "engine/arg_utils.py:EngineArgs": "limit_mm_per_prompt reasoning_config reasoning_parser max_model_len max_num_seqs"
    " gpu_memory_utilization pipeline_parallel_size data_parallel_size enforce_eager disable_log_stats",
    "v1/engine/llm_engine.py:LLMEngine": "engine_core vllm_config renderer output_processor log_stats logger_manager "
    "step has_unfinished_requests add_request(request_id, prompt, params) abort_request(request_ids, internal)",
    "v1/engine/output_processor.py:OutputProcessor": "log_stats request_states",
    "v1/engine/core_client.py:InprocClient": "get_output shutdown",
    "v1/engine/core_client.py:MPClient": "resources shutdown",
    "v1/engine/core_client.py:SyncMPClient": "<MPClient> get_output outputs_queue",
    "v1/engine/core_client.py:BackgroundResources": "engine_manager engine_dead",
    "v1/engine/utils.py:CoreEngineProcManager": "processes",
    "v1/engine/__init__.py:EngineCoreOutputs": "outputs",
    "v1/engine/__init__.py:EngineCoreOutput": "request_id new_token_ids num_nans_in_logits events",
    "v1/engine/__init__.py:EngineCoreEvent": "type",
    "v1/engine/__init__.py:EngineCoreEventType": "PREEMPTED",
    "outputs.py:RequestOutput": "request_id prompt prompt_token_ids outputs finished num_cached_tokens",
    "outputs.py:CompletionOutput": "text token_ids finish_reason",
    "sampling_params.py:SamplingParams": "temperature top_p top_k min_p repetition_penalty max_tokens seed stop "
    "thinking_token_budget structured_outputs output_kind skip_special_tokens",
    "sampling_params.py:StructuredOutputsParams": "json",
    "sampling_params.py:RequestOutputKind": "FINAL_ONLY",
    "config/reasoning.py:ReasoningConfig": "reasoning_start_str reasoning_end_str",
    "config/model.py:ModelConfig": "is_multimodal_model max_model_len original_max_model_len "
    "get_and_verify_max_len(max_model_len)",
    "config/scheduler.py:SchedulerConfig": "max_num_seqs max_num_batched_tokens",
    "config/cache.py:CacheConfig": "kv_cache_size_tokens",
    "config/vllm.py:VllmConfig": "model_config cache_config scheduler_config",
    "renderers/base.py:BaseRenderer": "mm_processor_cache shutdown",
    "multimodal/cache/base.py:BaseMultiModalProcessorCache": "invalidate(mm_hash)",
    "platforms/interface.py:Platform": "is_cpu is_unspecified",
    "platforms/cuda.py:CudaPlatformBase": "device_count",
    "platforms/rocm.py:RocmPlatform": "device_count",
}
"""File and class: members, with those of their parameters that are passed by name; a base class in angle brackets."""
FUNCTIONS = {
    "distributed/parallel_state.py": "cleanup_dist_env_and_memory",
    "model_executor/models/registry.py": "_run_in_subprocess",
}
TEXTS = {
    "envs.py": "VLLM_NO_USAGE_STATS VLLM_LOGGING_LEVEL VLLM_LOGGING_STREAM VLLM_COMPUTE_NANS_IN_LOGITS "
    "VLLM_ENABLE_V1_MULTIPROCESSING VLLM_WORKER_MULTIPROC_METHOD VLLM_CPU_KVCACHE_SPACE",
}
"""Names that stand in a file as texts."""
PHRASES = {
    "v1/executor/multiproc_executor.py": (
        "See stack trace for root cause",
        "for the root cause",
        "Worker proc %s died",
    ),
    "v1/engine/utils.py": ("See root cause above",),
    "v1/engine/exceptions.py": ("for the root cause",),
    "logger.py": ("(%(vllm_process_name)s ", "pid=%(process)d) %(levelname)s", "%(lineno)d] %(message)s"),
}
"""Parts of messages by which the cause of a failure is told from its consequences."""


def sources() -> list[Path]:
    """The folders `vllm` of the versions at hand, without importing one."""
    found = importlib.util.find_spec("vllm")
    installed = list(found.submodule_search_locations or ()) if found is not None else []
    named = [f"{folder}/vllm" for folder in os.environ.get("LIVEK12_VLLM_SOURCES", "").split(os.pathsep) if folder]
    return [Path(folder) for folder in (*installed, *named)]


def version(folder: Path) -> str:
    said = re.search(r"^__version__ = .*?'([\d.]+)", (folder / "_version.py").read_text(), re.MULTILINE)
    return said[1] if said else "?"


pytestmark = pytest.mark.skipif(not sources(), reason="no vLLM is installed")
each_version = pytest.mark.parametrize("folder", sources(), ids=version)


@cache
def tree(file: Path) -> ast.Module:
    assert file.exists(), f"{file} is gone"
    return ast.parse(file.read_text(encoding="utf-8"))


def members(body: ast.ClassDef) -> Iterator[tuple[str, list[str]]]:
    """What a class defines: bases, methods with their parameters, fields, and what its methods set on self."""
    for base in body.bases:
        yield f"<{ast.unparse(base)}>", []
    for node in ast.walk(body):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = node.args
            names = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
            yield node.name, names + ([given.kwarg.arg] if given.kwarg else [])
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                for one in ast.walk(target):
                    if isinstance(one, ast.Attribute):
                        yield one.attr, []
                    elif isinstance(one, ast.Name):
                        yield one.id, []


@each_version
@pytest.mark.parametrize("place", CLASSES)
def test_a_class_has_what_is_used_of_it(folder: Path, place: str) -> None:
    file, _, name = place.partition(":")
    (body,) = [one for one in tree(folder / file).body if isinstance(one, ast.ClassDef) and one.name == name]
    there: dict[str, set[str]] = {}
    for member, parameters in members(body):
        there.setdefault(member, set()).update(parameters)
    for member, parameters in re.findall(r"(<\w+>|\w+)(?:\(([^)]*)\))?", CLASSES[place]):
        assert member in there, f"{name}.{member} is gone"
        assert set(filter(None, parameters.split(", "))) <= there[member], f"{name}.{member} takes other parameters"


@each_version
@pytest.mark.parametrize("file", FUNCTIONS)
def test_a_module_has_the_functions_that_are_used(folder: Path, file: str) -> None:
    assert set(FUNCTIONS[file].split()) <= {
        node.name for node in tree(folder / file).body if isinstance(node, ast.FunctionDef)
    }


@each_version
@pytest.mark.parametrize("file", [*TEXTS, *PHRASES])
def test_a_module_has_the_words_that_are_set_or_read(folder: Path, file: str) -> None:
    texts = [node.value for node in ast.walk(tree(folder / file)) if isinstance(node, ast.Constant)]
    said = [text for text in texts if isinstance(text, str)]
    assert set(TEXTS.get(file, "").split()) <= set(said)
    for phrase in PHRASES.get(file, ()):
        assert any(phrase in text for text in said), phrase


@each_version
def test_a_version_that_is_read_is_one_that_is_supported(folder: Path) -> None:
    assert version(folder).rpartition(".")[0] in SUPPORTED


def test_what_is_installed_with_an_extra_is_supported() -> None:
    """No newer vLLM comes in by itself."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    wanted = setup["options.extras_require"]["vllm"].split()
    assert [one for one in wanted if one.startswith("vllm")] == [
        f"vllm>={SUPPORTED[0]},<0.{int(SUPPORTED[-1].partition('.')[2]) + 1}"
    ]
