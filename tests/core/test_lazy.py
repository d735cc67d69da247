"""Libraries that are imported when first used, errors that become sentences, and values by key."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from livek12.core.errors import UserError, explain_errors
from livek12.core.groups import grouped
from livek12.core.lazy import Lazy


def test_a_library_is_imported_when_a_name_of_it_is_used() -> None:
    code = (
        "import sys; from livek12.core.lazy import np, pa, yaml; print('numpy' in sys.modules, 'yaml' in sys.modules);"
        " np.zeros(1); print('numpy' in sys.modules, 'pyarrow' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.split() == ["False", "False", "True", "False"]


def test_submodules_are_attributes_and_missing_names_are_none() -> None:
    library = Lazy("email")
    assert library.message.Message().get_payload() is None
    assert library.message is sys.modules["email.message"] and not hasattr(library, "no_such_name")
    assert not hasattr(Lazy("no_such_library"), "__wrapped__"), "what goes through modules imports nothing"
    with pytest.raises(ModuleNotFoundError):
        _ = Lazy("no_such_library").name


def test_errors_of_files_are_explained(tmp_path: Path) -> None:
    file = tmp_path / "absent"
    absent = pytest.raises(UserError, match=r"absent: cannot be read \(No such file or directory\); name another$")
    with absent, explain_errors(f"{file}: cannot be read", "; name another"):
        file.read_bytes()
    with pytest.raises(UserError, match=r"^a: is no number: inv"), explain_errors("a: is no number:", "", ValueError):
        int("a")
    with pytest.raises(KeyError), explain_errors("others pass"):
        raise KeyError


def test_values_by_key() -> None:
    assert grouped((len(word), word) for word in ("a", "bc", "d")) == {1: ["a", "d"], 2: ["bc"]}
