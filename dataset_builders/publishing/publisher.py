"""The steps of a publish: check the set, choose its content, and ship it.

Contract: every check that can refuse runs before anything is sent. Withheld answers reach their private repository
before the public one changes: at every moment one of the two heads has them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from livek12.core.errors import UserError
from livek12.core.questions import read_card
from livek12.dataset_builders.publishing.answers import check_history, newest_release
from livek12.dataset_builders.publishing.completing import Extras, complete, data_hash
from livek12.dataset_builders.publishing.copying import copy_held, copy_public
from livek12.dataset_builders.publishing.keeping import Head, Losses, kept_by, losses
from livek12.dataset_builders.publishing.owning import check_free_places, with_owner
from livek12.dataset_builders.publishing.plan import data_set_files
from livek12.dataset_builders.publishing.policy import PolicyRuling, QuestionId, judge_rows
from livek12.dataset_builders.publishing.remote import Repository, State
from livek12.dataset_builders.publishing.rights import read_rights
from livek12.dataset_builders.publishing.shipping import Shipment, Shipping
from livek12.dataset_builders.writing.withheld import FILE, Withheld, parse_withheld


class NotSound(UserError):
    """The set does not pass `validate`; `problems` are its lines."""

    def __init__(self, folder: Path, problems: list[str]) -> None:
        super().__init__(f"{folder}: {len(problems)} problems, so nothing is published; mend them and build it again")
        self.problems = problems


@dataclass
class Published:
    """The outcome of a publish or of a dry run; the shipment of withheld answers comes first."""

    folder: str
    dry_run: bool
    questions: int
    withheld: dict[QuestionId, str]
    pages_withheld: int
    held: str | None
    notes: list[str]
    shipments: list[Shipment]

    def as_json(self) -> dict[str, Any]:
        """The result as JSON."""
        rows = [{"benchmark": name, "id": id, "reason": reason} for (name, id), reason in self.withheld.items()]
        shipments = [asdict(shipment) for shipment in self.shipments]
        plain = {name: value for name, value in vars(self).items() if name not in ("withheld", "shipments")}
        return {**plain, "withheld": rows, "shipments": shipments}


class Publisher:
    """Publishes one dataset built by `livek12 build`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._notes: list[str] = []

    def publish(
        self,
        repo: str,
        *,
        private: bool = False,
        dry_run: bool = False,
        rights: Path | None = None,
        hold_answers: str | None = None,
        reveal_answers: bool = False,
        drop: bool = False,
        remove: Collection[str] = (),
        tag: str | None = None,
        extras: Extras | None = None,
    ) -> Published:
        """Publishes it as a dataset repository of the Hub. A failure leaves nothing half done for a reader to see.

        `hold_answers` is the ORG/NAME of a private repository for the newest release with its answers, which a later
        `reveal_answers` publishes. `drop` allows the loss of rows, answers or other fields, `remove` that of configs.
        The default `tag` is the newest release, or a hash of the content.
        """
        if hold_answers and hold_answers.lower() == repo.lower():
            raise UserError(
                f"--hold-answers {repo} is --repo itself: the answers need a private repository of their own"
            )
        target, vault = Repository(repo), Repository(hold_answers) if hold_answers else None
        ruling = self._ruling(rights)
        withheld = Withheld(newest_release(ruling.releases), hold_answers) if hold_answers else None
        before = self._look(target, dry_run, private=private)
        vault_before = self._look(vault, dry_run, private=True) if vault else None
        if before and vault_before and before.name.lower() == vault_before.name.lower():
            raise UserError(f"--hold-answers {hold_answers} and --repo {repo} are one repository: {before.name}")
        was = parse_withheld(target.read(FILE, before.head)) if before and FILE in before.files else None
        self._check_reveal(target, was, withheld, ruling, reveal_answers)
        extras = extras or Extras()
        keepers, unseen = _keepers(vault, vault_before, was, ruling)
        with self._outgoing(ruling, withheld, kept_by(keepers)) as (public, secret):
            name = _default_tag(ruling, data_hash(public), before) if tag is None else tag
            files = complete(public, self._folder, target, before, name, extras, self._notes)
            hidden = complete(secret, secret, vault, vault_before, name, Extras(), []) if vault and secret else {}
            heads = ([(target, before)] if before else []) + keepers
            folders = {public: files} | ({secret: hidden} if secret else {})
            replaced = {public: (target, before)} if before else {}
            if secret and vault and vault_before:
                replaced[secret] = (vault, vault_before)
            _check_removed(public, remove)
            self._drop(target, was, losses(heads, folders, unseen, replaced), drop, remove)
            if before:
                check_free_places(target.name, files, before)
            if withheld and before:
                check_history(target, before, files, ruling.held(withheld.release))
            shippings = [Shipping(target, before, public, files, name, private=private, gate=extras.gated)]
            if vault and secret:
                shippings.insert(0, Shipping(vault, vault_before, secret, hidden, name, private=True))
            for shipping in () if dry_run else shippings:
                shipping.ship()
        return Published(
            folder=str(self._folder),
            dry_run=dry_run,
            questions=ruling.questions,
            withheld=ruling.withheld,
            pages_withheld=len(ruling.pages),
            held=withheld.release if withheld else None,
            notes=self._notes,
            shipments=[shipping.shipment for shipping in shippings],
        )

    def _ruling(self, rights: Path | None) -> PolicyRuling:
        from livek12.dataset_builders import validate

        permissions = read_rights(rights) if rights else []
        data_set_files(self._folder)
        if problems := validate(self._folder):
            raise NotSound(self._folder, problems)
        ruling = judge_rows(self._folder, permissions)
        if len(ruling.withheld) == ruling.questions:
            reasons = "; ".join(f"{count} {reason}" for reason, count in ruling.reasons().most_common())
            raise UserError(f"{self._folder}: nothing in it may be published ({reasons}); see docs/publish.md")
        self._notes += [f"the permission by {unused.by} covers no row without a licence" for unused in ruling.unused]
        return ruling

    def _look(self, repository: Repository, dry_run: bool, *, private: bool) -> State | None:
        name = repository.name
        if not dry_run:
            repository.check_login()
        state = repository.state()
        if state and private and not state.private:
            raise UserError(
                f"{name} is there and public: make it private in its settings on the Hub, or give another name"
            )
        if state:
            state = with_owner(repository, state)
            if state.name.lower() != name.lower():
                self._notes.append(f"{name} is called {state.name} on the Hub by now")
        if state is None and not repository.logged_in:
            self._notes.append(f"{name}: you are not logged in, so a private repository of this name is not seen")
        return state

    def _drop(
        self, target: Repository, was: Withheld | None, lost: Losses, meant: bool, remove: Collection[str]
    ) -> None:
        unnamed = sorted(lost.configs - set(remove))
        needed = ["--drop"] * (lost.of_rows and not meant) + [f"--remove {','.join(unnamed)}"] * bool(unnamed)
        if needed:
            base = f"--base {target.name}" + (f" --base-answers {was.repo}" if was else "")
            raise UserError(
                f"{self._folder} has not all that is published as {target.name}: this publish would drop {lost}; build"
                f" it with {base}, or say with {' '.join(needed)} that it is meant"
            )
        if lost:
            self._notes.append(f"dropped: {lost}")

    def _check_reveal(
        self, target: Repository, was: Withheld | None, withheld: Withheld | None, ruling: PolicyRuling, reveal: bool
    ) -> None:
        if was is None or withheld == was or not any(was.release in named for named in ruling.releases.values()):
            return
        if withheld and withheld.release != was.release:
            self._notes.append(
                f"the answers of release {was.release} become public: {withheld.release} is held back now"
            )
        elif not withheld and not reveal:
            raise UserError(
                f"{target.name} holds the answers of release {was.release} back (in {was.repo}), and this publish would"
                f" show them: add --hold-answers {was.repo}, or --reveal-answers if they are to be public"
            )

    @contextmanager
    def _outgoing(
        self, ruling: PolicyRuling, withheld: Withheld | None, kept: set[QuestionId]
    ) -> Iterator[tuple[Path, Path | None]]:
        """Copies of the folder to publish and of the withheld answers; `kept` questions remain in the private one."""
        with tempfile.TemporaryDirectory(prefix="livek12-publish-") as scratch:
            public, secret = Path(scratch) / "public", Path(scratch) / "answers"
            questions = ruling.held(withheld.release) if withheld else set()
            try:
                copy_public(self._folder, public, ruling, questions, withheld)
                if withheld:
                    copy_held(self._folder, secret, ruling, questions | kept)
            except OSError as error:
                raise UserError(
                    f"{scratch}: cannot write the copy that goes out ({error.strerror or error}):"
                    " make room, or set TMPDIR"
                ) from None
            yield public, secret if withheld else None


def _check_removed(folder: Path, remove: Collection[str]) -> None:
    if present := sorted(set(remove) & set(read_card(folder))):
        raise UserError(f"--remove {','.join(present)}: the data set has it; name only configs that it has not")


def _keepers(
    vault: Repository | None, vault_before: State | None, was: Withheld | None, ruling: PolicyRuling
) -> tuple[list[Head], set[QuestionId]]:
    heads = [(vault, vault_before)] if vault and vault_before else []
    names = {name.lower() for repository, state in heads for name in (repository.name, state.name)}
    if was is None or was.repo.lower() in names:
        return heads, set()
    other = Repository(was.repo)
    if state := other.state():
        return [*heads, (other, state)], set()
    return heads, ruling.held(was.release)


def _default_tag(ruling: PolicyRuling, content: str, before: State | None) -> str:
    """The tag of the same content, else the newest release, else (if releases have no order) a hash."""
    was = before.published if before else None
    if was and was.content == content:
        return was.tag
    try:
        return newest_release(ruling.releases)
    except UserError:
        return f"content-{content}"
