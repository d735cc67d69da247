"""Mends CPU builds of torch next to torchvision, torchaudio and torchcodec built for CUDA.

pip installs them with vLLM for CPUs and transformers, and they fail at import. torchvision lacks two operators that
image processors never call, so their schemas are declared; torchaudio and torchcodec are hidden.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys

from livek12.core.errors import UserError
from livek12.core.text import one_line

_SCHEMA = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
_declared: list[object] = []


def mend_torch_builds() -> bool:
    """Mends broken companions of torch; call before transformers.

    Returns:
        Whether torchvision was mended (child processes need the same).
    """
    if importlib.util.find_spec("torch") is None:
        return False
    try:
        import torch
    except (ImportError, OSError) as error:  # OSError: a library of CUDA that it was built for
        raise UserError(f"the installed torch cannot be imported ({one_line(error, 160)}): install it anew") from error
    if torch.version.cuda is not None:
        return False
    for name in ("torchaudio", "torchcodec"):
        if _breaks(name) is not None:
            _forget(name)
            sys.modules[name] = None  # type: ignore[assignment]
    if not _declared and _breaks("torchvision") is not None:
        _forget("torchvision")
        library = torch.library.Library("torchvision", "DEF")
        for operator in ("nms", "qnms"):
            library.define(operator + _SCHEMA)
        _declared.append(library)
        if (broken := _breaks("torchvision")) is not None:
            raise UserError(
                f"the installed torchvision does not fit this torch ({one_line(broken, 120)}):"
                " pip uninstall torchvision, or install its build for CPUs"
            )
    return bool(_declared)


def _breaks(name: str) -> Exception | None:
    if name in sys.modules or importlib.util.find_spec(name) is None:
        return None
    try:
        importlib.import_module(name)
    except Exception as error:
        return error
    return None


def _forget(name: str) -> None:
    for module in [m for m in sys.modules if m == name or m.startswith(name + ".")]:
        del sys.modules[module]
