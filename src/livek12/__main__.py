"""`python -m livek12` is the `livek12` command."""

from livek12.scripts.cli import main

main()
