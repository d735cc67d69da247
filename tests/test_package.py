"""The package as it is built: the same from a checkout, a zip and a source archive; editable without a copy."""

from __future__ import annotations

import configparser
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytest.importorskip("setuptools", "77", reason="setuptools builds the package")
pytestmark = pytest.mark.slow


def build(tree: Path, kind: str) -> Path:
    """What setuptools' hook `build_KIND` makes of a tree, without a network, in a process of its own."""
    out = tree.parent / f"{tree.name}-{kind}"
    code = "import sys; from setuptools import build_meta as hooks; "
    code += f"print(hooks.build_{kind}(sys.argv[1]), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code, str(out)], cwd=tree, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return out / done.stderr.splitlines()[-1]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of this checkout, with its links."""
    tmp_path = tmp_path_factory.mktemp("tree")
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).exists():
            (tmp_path / "checkout" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tmp_path / "checkout" / name, follow_symlinks=False)
    return tmp_path / "checkout"


@cache
def unzipped(checkout: Path) -> Path:
    """As many programs unpack a zip of the repository: a link is a text file with the place it points at."""
    tree = checkout.parent / "zip"
    shutil.copytree(checkout, tree, symlinks=True)
    for link in [path for path in tree.rglob("*") if path.is_symlink()]:
        place = link.readlink()
        link.unlink()
        link.write_text(str(place))
    return tree


@cache
def unpacked(checkout: Path) -> Path:
    """A source archive, unpacked once."""
    with tarfile.open(build(checkout, "sdist")) as archive:
        archive.extractall(checkout.parent / "sdist", filter="data")
    (tree,) = (checkout.parent / "sdist").iterdir()
    return tree


def contents(wheel: Path) -> dict[str, int]:
    """The files of a wheel with the checksums of their contents; RECORD and METADATA are derived."""
    with zipfile.ZipFile(wheel) as archive:
        return {info.filename: info.CRC for info in archive.infolist() if "dist-info" not in info.filename}


@pytest.mark.parametrize("made", [pytest.param(unzipped, marks=pytest.mark.release), unpacked])
@pytest.mark.release
def test_every_way_gives_the_same_wheel(made: Callable[[Path], Path], checkout: Path) -> None:
    tree = made(checkout)
    wheel = contents(build(tree, "wheel"))
    assert wheel == contents(build(checkout, "wheel"))
    sources = {path.relative_to(ROOT).as_posix() for path in (ROOT / "judges").rglob("*.py")}
    assert {f"livek12/{name}" for name in sources} <= set(wheel)
    assert not [name for name in wheel if name.startswith(("livek12/scripts/bench", "tests", "build"))]


def test_a_source_archive_has_the_tests_and_what_they_read(checkout: Path) -> None:
    tree = unpacked(checkout)
    for name in ("tests/conftest.py", "tests/tasks/golden", "docs/install.md", "constraints.txt", "scripts/test.sh"):
        assert (tree / name).exists(), name


@pytest.mark.parametrize("made", [Path, unzipped])
def test_a_new_module_is_there_without_installing_again(
    made: Callable[[Path], Path], checkout: Path, tmp_path: Path
) -> None:
    tree = shutil.copytree(made(checkout), tmp_path / "tree", symlinks=True)
    with zipfile.ZipFile(build(tree, "editable")) as wheel:
        wheel.extractall(site := tmp_path / "site")
    shutil.rmtree(tree / "build", ignore_errors=True)  # two environments of one checkout share nothing but its sources
    (tree / "judges" / "rules" / "of_today.py").write_text("HERE = __file__\n")
    (tree / "core" / "of_today").mkdir()
    (tree / "core" / "of_today" / "__init__.py").write_text("from livek12.judges.rules.of_today import HERE\n")
    code = "import site, sys; site.addsitedir(sys.argv[1]); from livek12.core.of_today import HERE; print(HERE)"
    found = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, str(site)], cwd="/", capture_output=True, text=True, check=True
    )
    assert Path(found.stdout.strip()).resolve() == tree / "judges" / "rules" / "of_today.py"


def test_pyproject_leaves_the_facts_to_setup_cfg() -> None:
    """Its table is there for uv; a field that it forgot would be missing from the wheel."""
    said = tomllib.loads((ROOT / "pyproject.toml").read_text())
    facts = configparser.ConfigParser()
    facts.read(ROOT / "setup.cfg")
    assert set(said["project"]) == {"name", "dynamic"} and said["project"]["name"] == facts["metadata"]["name"]
    stated = {"long_description": "readme", "python_requires": "requires-python", "install_requires": "dependencies"}
    named = {stated.get(key, key) for key in (*facts["metadata"], *facts["options"])}
    named -= {"name", "long_description_content_type", "license_files"}
    assert named | {"optional-dependencies", "entry-points", "scripts"} == set(said["project"]["dynamic"])
    extras = set(facts["options.extras_require"])
    apart = [{one["extra"] for one in pair} for pair in said["tool"]["uv"]["conflicts"]]
    assert all(len(pair) == 2 and pair <= extras for pair in apart) and {"lighteval", "export"} in apart
