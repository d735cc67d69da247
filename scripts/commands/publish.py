"""`livek12 publish`: a built data set becomes a dataset repository of the Hub."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from livek12.core.arguments import one_of
from livek12.core.errors import UserError
from livek12.core.groups import grouped
from livek12.core.progress import tell
from livek12.scripts import options
from livek12.scripts.endings import answer

if TYPE_CHECKING:
    from livek12.dataset_builders.publishing.publisher import Published
    from livek12.dataset_builders.publishing.remote import Shipment
    from livek12.dataset_builders.writing.listings import Gate

_SHOWN_IDS = 5
_GATES: dict[str, Gate] = {"auto": "auto", "manual": "manual", "off": ""}


@options.command("livek12 publish data/mine --repo ORG/NAME --private --dry-run")
def publish(
    folder: Annotated[Path, typer.Argument(help="A built data set.")],
    repo: Annotated[str, "ORG/NAME on the Hub; created if missing."],
    private: Annotated[bool, "Create a private data set."] = False,
    dry_run: Annotated[bool, "Only show what would change."] = False,
    rights: Annotated[Path | None, "YAML file of permissions for rows without a licence."] = None,
    hold_answers: Annotated[str | None, "ORG/PRIVATE, to store the answers of the newest release."] = None,
    reveal_answers: Annotated[bool, "Publish answers that were held back so far."] = False,
    drop: Annotated[bool, "Remove published rows, answers or fields that are not in the folder."] = False,
    remove: Annotated[str, "Published configs to remove, comma-separated."] = "",
    tag: Annotated[str | None, "Tag of this version on the Hub; default: the newest release."] = None,
    gated: Annotated[str | None, "Access requests: auto (granted at once), manual (you decide) or off."] = None,
    flat: Annotated[
        bool, options.Opt("Add configs eval_TASK and an eval.yaml for other harnesses.", "--eval/--no-eval")
    ] = True,
    environment: Annotated[bool, "Add an environment.yaml (the Hub's draft hf-env-0.1)."] = False,
    as_json: options.Json = False,
) -> None:
    """Publish a data set to the Hub."""
    from livek12.dataset_builders.publishing.publisher import Extras, NotSound, Publisher
    from livek12.evaluation.flat import flat_tasks

    one_of("--gated", gated or "off", tuple(_GATES))
    if environment and not flat:
        raise UserError("--environment names the configs eval_TASK: leave --no-eval out")
    extras = Extras(flat_tasks if flat else None, environment, _GATES[gated] if gated else None)
    try:
        published = Publisher(folder).publish(
            repo,
            private=private,
            dry_run=dry_run,
            rights=rights,
            hold_answers=hold_answers,
            reveal_answers=reveal_answers,
            drop=drop,
            remove=[name.strip() for name in remove.split(",") if name.strip()],
            tag=tag,
            extras=extras,
        )
    except NotSound as problem:
        for line in problem.problems:
            tell(line, err=True)
        raise
    answer(as_json, published.as_json(), *lines(published), indent=1)


def lines(published: Published) -> Iterator[str]:
    """Result for a person, one line a fact."""
    groups = grouped((reason, id) for (_, id), reason in published.withheld.items())
    for reason, ids in groups.items():
        more = f", and {len(ids) - _SHOWN_IDS} more: --json lists all" if len(ids) > _SHOWN_IDS else ""
        yield f"withheld, {reason}: {len(ids)} ({', '.join(ids[:_SHOWN_IDS])}{more})"
    if published.pages_withheld:
        yield f"withheld with them: {published.pages_withheld} page images"
    if published.held:
        yield f"answers of release {published.held} are held back"
    yield from published.notes
    for shipment in published.shipments:
        yield from _shipment(shipment, dry_run=published.dry_run)


def _shipment(shipment: Shipment, *, dry_run: bool) -> Iterator[str]:
    name, seen = shipment.repo, "private" if shipment.private else "public"
    if dry_run:
        yield f"{name}: not there; would be created, {seen}" if shipment.created else f"{name}: {seen}"
        for kind in ("added", "changed", "removed"):
            for change in shipment.of_kind(kind):
                yield f"{name}: {kind} {change.path} ({change.bytes:,} bytes)"
    groups = [(kind, shipment.of_kind(kind)) for kind in ("added", "changed", "removed", "unchanged")]
    counts = [f"{len(group)} {kind} ({sum(c.bytes for c in group):,} bytes)" for kind, group in groups if group]
    yield f"{name}: files: {', '.join(counts)}"
    tag = f"tag {shipment.tag}{'' if shipment.tagged else ', there already'}"
    if dry_run:
        yield f"{name}: {tag}; nothing was changed (dry run)"
        return
    rows = sum(rows for splits in shipment.loaded.values() for rows in splits.values())
    done = f"commit {shipment.commit}" if shipment.committed else "nothing to commit"
    yield f"{name}: {done}; {tag}; {len(shipment.loaded)} configs with {rows} rows loaded back and compared"
