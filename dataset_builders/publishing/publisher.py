"""Steps of a publish: check the set, copy and complete its content, and ship it.

Contract: every check that can refuse runs first. Withheld answers reach their private repository before the public one
changes. The same rows give the same bytes. A page with something withheld is left out, and so are `image_only` rows
that need it. Variants of a question without its answer are never published, nor the values drawn for them. Flat
configs, `eval.yaml` and `published.json` are made after withholding. Others' files on the Hub are not overwritten.
"""

from __future__ import annotations

import datetime
import json
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import yaml

from livek12.core.errors import UserError
from livek12.core.exams import EXAMS, read_built, shared, written
from livek12.core.features import SPLIT, Flatten
from livek12.core.key_versions import KEYS_FILE, read_keys
from livek12.core.questions import CARD, read_card, read_records
from livek12.core.records import Page, Question, Record, Source
from livek12.dataset_builders.base import IMAGE_ONLY, PAGES, PageKey
from livek12.dataset_builders.publishing.eval_yaml import check_eval_yaml, render_environment_yaml, render_eval_yaml
from livek12.dataset_builders.publishing.keeping import Head, Losses, check_history, kept_by, losses, newest_release
from livek12.dataset_builders.publishing.policy import (
    PolicyRuling,
    QuestionId,
    judge_rows,
    name_of,
    read_columns,
    read_rights,
)
from livek12.dataset_builders.publishing.remote import (
    Files,
    Repository,
    Shipment,
    Shipping,
    State,
    check_free_places,
    content_hash,
    data_set_files,
    local_files,
    with_owner,
)
from livek12.dataset_builders.reading.built import tables_of
from livek12.dataset_builders.writing.card import CARD_FILES, METADATA, VARIANTS, describe_again, rewrite_metadata
from livek12.dataset_builders.writing.listings import (
    ENVIRONMENT,
    EVAL,
    MEMBERS,
    PUBLISHED,
    SHARED,
    Gate,
    Publication,
    members_of,
    parse_published,
    read_members,
    write_members,
)
from livek12.dataset_builders.writing.parquet import FlatConfig, TableWriters, flat_rows, write_flat
from livek12.dataset_builders.writing.withheld import FILE as WITHHELD
from livek12.dataset_builders.writing.withheld import Withheld, parse_withheld, without_answers

Fate = Literal["keep", "change", "drop"]
_COLUMNS: dict[bool, tuple[str, ...]] = {
    True: ("paper_id", "page_number"),
    False: ("benchmark", "id", "paper_id", "page_numbers", "variant"),
}


def copy_public(
    folder: Path, out: Path, ruling: PolicyRuling, keyless: Collection[QuestionId], withheld: Withheld | None
) -> None:
    """Copies the public part: nothing withheld, and the questions of `keyless` without their answers."""

    def fate(table: str, row: dict[str, Any]) -> Fate:
        outcome = _fate(table, row, ruling)
        if outcome == "drop" or table == PAGES or name_of(row) not in keyless:
            return outcome
        return "drop" if row["variant"] else "change"

    def change(question: Question) -> Question:
        licensed = _licensed(question, ruling)
        return without_answers(licensed) if (question.benchmark, question.id) in keyless else licensed

    _copy(folder, out, fate, change, withheld, keyless)


def copy_held(folder: Path, out: Path, ruling: PolicyRuling, wanted: Collection[QuestionId]) -> None:
    """Copies the complete rows of some questions, and their pages."""
    pages = set[PageKey]()

    def fate(table: str, row: dict[str, Any]) -> Fate:
        if table == PAGES:
            return _fate(table, row, ruling) if (row["paper_id"], row["page_number"]) in pages else "drop"
        if name_of(row) not in wanted:
            return "drop"
        pages.update(_page_keys(row))
        return _fate(table, row, ruling)

    _copy(folder, out, fate, lambda question: _licensed(question, ruling), None)


def _fate(table: str, row: dict[str, Any], ruling: PolicyRuling) -> Fate:
    if table == PAGES:
        return "drop" if (row["paper_id"], row["page_number"]) in ruling.pages else "keep"
    if name_of(row) in ruling.withheld or (table == IMAGE_ONLY and ruling.pages.intersection(_page_keys(row))):
        return "drop"
    return "change" if name_of(row) in ruling.permitted else "keep"


def _licensed(question: Question, ruling: PolicyRuling) -> Question:
    permission = ruling.permitted.get((question.benchmark, question.id))
    if permission is None:
        return question
    source = Source(**{**question.source.model_dump(), "licence": permission.licence})
    return question.model_copy(update={"source": source})


def _copy(
    folder: Path,
    out: Path,
    fate: Callable[[str, dict[str, Any]], Fate],
    change: Callable[[Question], Question],
    withheld: Withheld | None,
    keyless: Collection[QuestionId] = (),
) -> None:
    out.mkdir()
    _, tables = tables_of(folder)
    kept, whole = set[QuestionId](), True
    # Pages last: questions name the wanted ones.
    for table, splits in sorted(tables.items(), key=lambda entry: entry[0] == PAGES):
        for split, files in splits.items():
            rows = [row for file in files for row in read_columns(file, _COLUMNS[table == PAGES])]
            fates = [fate(table, row) for row in rows]
            whole = whole and set(fates) <= {"keep"}
            if table != PAGES:
                kept.update(name_of(row) for row, outcome in zip(rows, fates, strict=True) if outcome != "drop")
            if set(fates) <= {"keep"}:
                (out / table).mkdir(exist_ok=True)
                for file in files:
                    (out / table / file.name).symlink_to(file.resolve())
            elif set(fates) != {"drop"}:
                _rewrite(table, split, files, out, fates, change)
    for name in set(METADATA) - {MEMBERS, VARIANTS, EXAMS, KEYS_FILE}:
        if (folder / name).is_file():
            shutil.copyfile(folder / name, out / name)
    shown = {id for _, id in kept.difference(keyless)}
    _copy_drawn(folder, out, shown)
    if (book := read_keys(folder)).versions:
        (out / KEYS_FILE).write_text(book.only(shown).text, encoding="utf-8")
    write_members(out, members_of(read_members(folder), kept))
    if exams := shared(read_built(folder / EXAMS), {*kept}, {*keyless}):
        (out / EXAMS).write_text(written(exams), "utf-8")
    if withheld:
        withheld.write(out)
    if withheld or not whole:
        rewrite_metadata(out)


def _copy_drawn(folder: Path, out: Path, ids: Collection[str]) -> None:
    if (folder / VARIANTS).is_file():
        lines = (folder / VARIANTS).read_text(encoding="utf-8").splitlines(keepends=True)
        (out / VARIANTS).write_text("".join(line for line in lines if json.loads(line).get("of") in ids), "utf-8")


def _rewrite(
    table: str, split: str, files: list[Path], out: Path, fates: list[Fate], change: Callable[[Question], Question]
) -> None:
    kind: type[Record] = Page if table == PAGES else Question
    records = (record for file in files for record in read_records(kind, file))
    with TableWriters(out) as writers:
        for outcome, record in zip(fates, records, strict=True):
            if outcome != "drop":
                changed = change(record) if outcome == "change" and isinstance(record, Question) else record
                writers.write(table, split, changed)


def _page_keys(row: dict[str, Any]) -> list[PageKey]:
    return [(row["paper_id"], number) for number in row["page_numbers"] or ()] if row["paper_id"] else []


@dataclass(frozen=True)
class Extras:
    """Additions to the questions; `gated` None leaves the access unchanged."""

    flatten: Flatten | None = None
    environment: bool = False
    gated: Gate | None = None


def _data_hash(folder: Path) -> str:
    files = local_files(folder)
    return content_hash({path: file for path, file in files.items() if path not in {*CARD_FILES, PUBLISHED, *SHARED}})


def complete(
    folder: Path, built: Path, repository: Repository, before: State | None, tag: str, extras: Extras, notes: list[str]
) -> Files:
    """Writes the additions into the folder to publish; returns all its files.

    `built` is the maintainer's dataset, which may hold an `eval.yaml`.
    """
    published = _published(repository, before, tag, _data_hash(folder), extras)
    published.write(folder)
    flat = write_flat(folder, extras.flatten(folder)) if extras.flatten else []
    _add_eval_yaml(folder, built, before, flat, notes)
    if extras.environment and flat and not (before and ENVIRONMENT in before.theirs):
        (folder / ENVIRONMENT).write_text(render_environment_yaml(flat), encoding="utf-8")
    describe_again(folder)
    files = local_files(folder)
    listed = {path: file.sha256 for path, file in files.items() if path != PUBLISHED}
    replace(published, files=listed).write(folder)
    return files | local_files(folder, only=PUBLISHED)


def _published(repository: Repository, before: State | None, tag: str, content: str, extras: Extras) -> Publication:
    was = before.published if before else None
    if before and tag in before.tags and PUBLISHED in repository.files(before.tags[tag]):
        was = parse_published(repository.read(PUBLISHED, before.tags[tag])) or was
    same = was is not None and (was.tag, was.content) == (tag, content)
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return Publication(
        repo=repository.name,
        url=repository.url,
        tag=tag,
        date=was.date if was and same else today,
        content=content,
        gated=extras.gated if extras.gated is not None else was.gated if was else "",
    )


def _add_eval_yaml(
    folder: Path, built: Path, before: State | None, flat: Sequence[FlatConfig], notes: list[str]
) -> None:
    if (built / EVAL).is_file():
        splits = {config: tuple(splits) for config, splits in read_card(folder).items()}
        check_eval_yaml(built / EVAL, splits | dict.fromkeys(flat_rows(folder), (SPLIT,)))
        shutil.copyfile(built / EVAL, folder / EVAL)
    elif before and EVAL in before.theirs:
        notes.append(f"{before.name} has an {EVAL} of its own, which stays; the flat configs are there for it")
    elif flat:
        rows = sum(config.rows for config in flat)
        described = f"{rows} exam questions that one letter, number or expression decides, of {len(flat)} tasks."
        (folder / EVAL).write_text(render_eval_yaml(_pretty_name(folder), described, flat), encoding="utf-8")
        check_eval_yaml(folder / EVAL, {config.name: (SPLIT,) for config in flat})


def _pretty_name(folder: Path) -> str:
    front = (folder / CARD).read_text(encoding="utf-8").split("---\n")[1]
    return str(yaml.safe_load(front)["pretty_name"])


class NotSound(UserError):
    """The set does not pass `validate`; `problems` are its lines."""

    def __init__(self, folder: Path, problems: list[str]) -> None:
        super().__init__(f"{folder}: {len(problems)} problems, so nothing is published; mend them and build it again")
        self.problems = problems


@dataclass
class Published:
    """Outcome of a publish or dry run; withheld answers first."""

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
        """Publishes it as a dataset repository of the Hub, atomically for readers.

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
        was = parse_withheld(target.read(WITHHELD, before.head)) if before and WITHHELD in before.files else None
        self._check_reveal(target, was, withheld, ruling, reveal_answers)
        extras = extras or Extras()
        keepers, unseen = _keepers(vault, vault_before, was, ruling)
        with self._outgoing(ruling, withheld, kept_by(keepers)) as (public, secret):
            name = _default_tag(ruling, _data_hash(public), before) if tag is None else tag
            files = complete(public, self._folder, target, before, name, extras, self._notes)
            hidden = complete(secret, secret, vault, vault_before, name, Extras(), []) if vault and secret else {}
            heads = ([(target, before)] if before else []) + keepers
            folders = {public: files} | ({secret: hidden} if secret else {})
            replaced = {public: (target, before)} if before else {}
            if secret and vault and vault_before:
                replaced[secret] = (vault, vault_before)
            if present := sorted(set(remove) & set(read_card(public))):
                raise UserError(f"--remove {','.join(present)}: the data set has it; name only configs that it has not")
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
        """Copies to publish; `kept` questions remain in the private one."""
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
    """Tag of the same content, else the newest release, else (if releases have no order) a hash."""
    was = before.published if before else None
    if was and was.content == content:
        return was.tag
    try:
        return newest_release(ruling.releases)
    except UserError:
        return f"content-{content}"
