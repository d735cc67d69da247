"""The subcommands of `livek12`, one module each."""
