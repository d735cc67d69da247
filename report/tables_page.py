"""The tables of the articles as a page of its own, without scripts and without anything from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from livek12.report.html import csp_hash, environment, read_template
from livek12.report.tables import ArticleTable, with_heads


def as_page(tables: Sequence[ArticleTable], missing: Mapping[str, str]) -> str:
    """The page: each table, and the names of those that are not there with the reason."""
    from markupsafe import Markup

    style = read_template("ingest.css")
    return (
        environment()
        .get_template("tables.html.j2")
        .render(tables=with_heads(tables), missing=missing, style=Markup(style), style_hash=csp_hash(style))
    )
