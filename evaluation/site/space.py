"""Publishes a site as a static Space of the Hub: one commit of the folder, which removes an earlier site's files."""

from __future__ import annotations

import json
import re
from pathlib import Path

from livek12.core.errors import UserError
from livek12.core.files import write_atomically
from livek12.core.hub import endpoint, reason
from livek12.core.visible import visible

_CARD = """\
---
title: {title}
sdk: static
app_file: index.html
pinned: false
tags: [leaderboard, livek12]
---
Models sit exams: marks, answers and questions, made by livek12. The page asks nothing of a server; `table.json`,
`cost.json` and `questions.parquet` hold the same for programs.
"""


def check_space(space: str) -> None:
    """Refuses an invalid name of a Space."""
    if not re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", space):
        raise UserError(f"--space {space}: give ORG/NAME")


def send(site: Path, space: str, title: str) -> str:
    """Writes the card and sends the folder; returns the Space's address."""
    from huggingface_hub import HfApi

    card = _CARD.format(title=json.dumps(visible(title or space.rpartition("/")[2]), ensure_ascii=False))
    write_atomically(site / "README.md", card)
    api = HfApi()
    try:
        api.create_repo(space, repo_type="space", space_sdk="static", exist_ok=True)
        api.upload_folder(
            repo_id=space,
            repo_type="space",
            folder_path=site,
            commit_message="livek12 site",
            delete_patterns=["data/**", "images/**", "assets/**"],
            ignore_patterns=[".*", "data/.*"],  # locks, and what is not at its end
        )
    except Exception as error:  # the Hub's client raises its own, httpx's and OSErrors
        raise UserError(f"{space}: {reason(error).replace('data set', 'Space')}; `hf auth login` logs in") from None
    return f"{endpoint()}/spaces/{space}"
