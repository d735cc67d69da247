"""Signatures of runs: `signature.json` has the hashes of a run's files, signed by an ed25519 key.

Contract: it holds for the files that a run is read from. The public key in it proves nothing.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import os
import socket
import struct
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from livek12.core.errors import UserError, explain_errors, install, why
from livek12.core.files import write_atomically
from livek12.core.packed import STEMS
from livek12.core.records import Record, canonical_json
from livek12.core.run.folder import RunFolder
from livek12.core.run.journal import journal_files
from livek12.core.run.remote import RUN_FILE
from livek12.core.run.spec import public_json
from livek12.core.run.sums import Sum, sum_of, sums_line
from livek12.core.version import __version__

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

SIGNATURE = "signature.json"
_PURPOSE = b"livek12 run 1\n"
_MOST = 16 << 20
_KIND = "ssh-ed25519"
_SIGNED = 14
_AGENT_REPLY = 1 + 4 + 4 + len(_KIND) + 4 + 64
"""Bytes: lengths, the kind of reply, the kind of key, the signature."""
_AGENT_SECONDS = 60.0
"""In which people may have to touch a device."""


class SignedRun(Record):
    """Statement of a signature."""

    signed_at: str
    package_version: str = __version__
    run: str
    model: str
    engine: str
    engine_versions: dict[str, str]
    data: dict[str, str]
    judges: dict[str, str]
    files: dict[str, Sum]

    @property
    def message(self) -> bytes:
        """Signed bytes."""
        return _PURPOSE + canonical_json(self.model_dump(exclude_defaults=False)).encode()


class Signature(Record):
    """Content of signature.json; `signer` as in `authorized_keys`."""

    signed: SignedRun
    signer: str
    signature: str


def check_library() -> None:
    """Refuses a missing library."""
    if find_spec("cryptography") is None:
        raise UserError(f"signatures need the library cryptography: {install('sign')}")


def sign(run: RunFolder, key: Path) -> str:
    """Signs a run with a key of OpenSSH or PEM, or with that of ssh-agent to a public key; returns the public key."""
    check_library()
    signer, signed_by = _signer(key)
    spec = run.spec()
    signed = SignedRun(
        signed_at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        run=spec.identity,
        model=spec.model,
        engine=spec.engine,
        engine_versions=spec.engine_versions,
        data={task.name: task.data_sha256 for task in spec.tasks},
        judges=spec.judges,
        files=dict(_files(run)),
    )
    signature = base64.b64encode(signed_by(signed.message)).decode()
    statement = Signature(signed=signed, signer=signer, signature=signature)
    if not _holds(statement):
        raise UserError(f"{key}: the signature of ssh-agent does not hold; is it an agent of OpenSSH?")
    write_atomically(run.path / SIGNATURE, statement.model_dump_json(indent=1) + "\n")
    return signer


def read_signature(folder: Path) -> Signature | None:
    """Signature of a run, unchecked; None without one."""
    file = folder / SIGNATURE
    try:
        with file.open("rb") as content:
            return Signature.model_validate_json(content.read(_MOST))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise UserError(f"{file}: cannot be read: {why(error)}") from error


def check_signature(run: RunFolder, signer: str = "") -> Iterator[str]:
    """Faults of the signature; `signer` as in `check_run`."""
    signature, file = read_signature(run.path), run.path / SIGNATURE
    if signature is None:
        if signer:
            yield f"{run.path}: is not signed"
        return
    check_library()
    if signer and read_public_key(signer) != _key_of(signature.signer):
        yield f"{file}: is signed by {signature.signer:.80}, and not by {signer:.80}"
    if not _holds(signature):
        yield f"{file}: its signature does not hold for what it states"
    files = dict(_files(run))
    for name in sorted(files.keys() | signature.signed.files.keys()):
        if files.get(name) != signature.signed.files.get(name):
            what = "is gone" if name not in files else "has changed" if name in signature.signed.files else "is new"
            yield f"{run.path / name}: {what} since the run was signed"


def signer_of(run: RunFolder) -> dict[str, Any]:
    """Fingerprint of the signer, as `ssh-keygen -l` prints it, and the faults; nothing of an unsigned run."""
    try:
        if (signature := read_signature(run.path)) is None:
            return {}
        blob = base64.b64decode(_key_of(signature.signer).partition(" ")[2], validate=True)
        printed = base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")
        return {"by": f"SHA256:{printed}", "faults": sum(1 for _ in check_signature(run))}
    except (UserError, ValueError):
        return {"by": "", "faults": 1}


def _files(run: RunFolder) -> Iterator[tuple[str, Sum]]:
    stems = tuple(f"{stem}-" for stem in STEMS)
    live = {path.name for stem in STEMS for path in journal_files(run.path, stem) if path.stat().st_size}
    for path in sorted(run.path.iterdir()):
        others = not RUN_FILE.fullmatch(path.name) or path.name in ("run.json", SIGNATURE) or not path.is_file()
        if not others and (path.name in live or not path.name.startswith(stems)):
            yield path.name, sum_of(path)
    yield "run.json", Sum.model_validate_json(sums_line(public_json(run.spec())))


def _holds(signature: Signature) -> bool:
    from cryptography.exceptions import InvalidSignature

    try:
        key: Any = _loaded(_key_of(signature.signer))
        key.verify(base64.b64decode(signature.signature, validate=True), signature.signed.message)
    except (InvalidSignature, ValueError):
        return False
    return True


def _key_of(text: str) -> str:
    return " ".join(text.split()[:2])


def read_public_key(signer: str) -> str:
    """Public key in a file, or in the text itself; UserError if it is none."""
    check_library()
    text = signer if signer.startswith(_KIND) else _content(Path(signer)).decode("utf-8", "replace")
    key = _key_of(text)
    _loaded(key)
    return key


def _loaded(key: str) -> Any:
    from cryptography.hazmat.primitives.serialization import load_ssh_public_key

    if not key.startswith(f"{_KIND} "):
        raise UserError(f"{key:.60}: is no public ed25519 key; give a .pub file, or its line ({_KIND} …)")
    try:
        return load_ssh_public_key(key.encode())
    except ValueError as error:
        raise UserError(f"{key:.60}: is no public key ({why(error)})") from error


def _signer(file: Path) -> tuple[str, Callable[[bytes], bytes]]:
    if _content(file).startswith(_KIND.encode()):
        public = read_public_key(str(file))
        return public, partial(_signed_by_agent, base64.b64decode(public.split()[1]))
    private = _private_key(file)
    return _public_text(private.public_key()), private.sign


def _signed_by_agent(key: bytes, message: bytes) -> bytes:
    """Signature of ssh-agent (its protocol: draft-miller-ssh-agent)."""
    place = os.environ.get("SSH_AUTH_SOCK", "")
    request = b"\x0d" + b"".join(struct.pack(">I", len(part)) + part for part in (key, message)) + bytes(4)
    try:
        with socket.socket(socket.AF_UNIX) as agent:
            agent.settimeout(_AGENT_SECONDS)
            agent.connect(place)
            agent.sendall(struct.pack(">I", len(request)) + request)
            stream = agent.makefile("rb")
            reply = stream.read(min(_AGENT_REPLY, *struct.unpack(">I", stream.read(4))))
    except (OSError, struct.error) as error:
        raise UserError(
            f"{place or 'SSH_AUTH_SOCK'}: no ssh-agent answers; start one, or give the private key"
        ) from error
    if len(reply) < _AGENT_REPLY or reply[0] != _SIGNED:
        raise UserError("ssh-agent did not sign: `ssh-add` the private key to this public one, or give its file")
    return reply[-64:]


def _private_key(file: Path) -> Ed25519PrivateKey:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_ssh_private_key

    content = _content(file)
    load: Any = load_ssh_private_key if b"OPENSSH PRIVATE KEY" in content[:100] else load_pem_private_key
    try:
        key = load(content, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise UserError(f"{file}: is no private key that can be read without a password ({why(error)})") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise UserError(f"{file}: is no ed25519 key; `ssh-keygen -t ed25519` makes one")
    return key


def _content(file: Path) -> bytes:
    with explain_errors(f"{file}: cannot be read"), file.open("rb") as content:
        return content.read(_MOST)


def _public_text(key: Any) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return str(key.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode())
