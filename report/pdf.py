"""`report.pdf`: report.html printed by a local Chromium.

The browser has its own profile and no network, and is killed with its children after a time-out. The file appears whole
or not at all. Links are relative, to reveal no path.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from functools import partial
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from livek12.core.errors import UserError
from livek12.core.files import write_atomically

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
MOST_SECONDS = 300.0
_LINK = re.compile(rb"/URI \((file:(?:[^()\\]|\\.)*)\)")
_FLAGS = (
    "--headless",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--disable-sync",
    "--no-first-run",
    "--no-pdf-header-footer",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)


def find_browser() -> str | None:
    """A Chromium or its like on the PATH."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def write_pdf(page: Path, pdf: Path) -> None:
    """Prints report.html to a PDF."""
    browser = find_browser()
    if browser is None:
        raise UserError(f"{pdf.name}: needs Chromium or Chrome on the PATH; or print {page} from a browser")
    with tempfile.TemporaryDirectory(prefix="livek12-pdf-") as scratch:
        made = Path(scratch) / "report.pdf"
        # As root, browsers refuse their own sandbox; the page is ours, under its own policy.
        own = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        command = [browser, *_FLAGS, *own, f"--user-data-dir={scratch}/profile", f"--print-to-pdf={made}"]
        reason = _run([*command, page.resolve().as_uri()])
        if not made.is_file() or not made.read_bytes().startswith(b"%PDF"):
            raise UserError(f"{pdf.name}: {Path(browser).name} did not print {page}{reason}")
        write_atomically(pdf, _LINK.sub(partial(_from, page.resolve().parent), made.read_bytes()))


def _from(folder: Path, link: re.Match[bytes]) -> bytes:
    """A relative link in place of the browser's absolute one; of equal length, since PDF counts places."""
    there = Path(unquote(urlsplit(link[1].replace(b"\\", b"").decode("latin-1")).path))
    if there.suffix == ".html":
        there = there.with_suffix(".pdf")
    return f"/URI ({quote(os.path.relpath(there, folder), safe='/~')})".encode().ljust(len(link[0]))


def _run(command: list[str]) -> str:
    """Runs the browser; returns the reason of a failure."""
    try:
        with subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            try:
                code = process.wait(MOST_SECONDS)
            except BaseException as error:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                if isinstance(error, subprocess.TimeoutExpired):
                    return f" within {MOST_SECONDS:.0f} s"
                raise
    except OSError as error:
        return f" ({error.strerror})"
    return f" (it ended with {code})" if code else ""
