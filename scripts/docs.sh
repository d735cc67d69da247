#!/usr/bin/env bash
# Builds the site of the docs, with the reference from the docstrings, into build/site; a warning is an error.
# Further arguments go to mkdocs: `bash scripts/docs.sh serve` instead of `build` shows it while you write.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh
environment .venv-docs --editable '.[docs]'
if [ $# = 0 ]; then set -- build; fi
exec .venv-docs/bin/mkdocs "$@"
