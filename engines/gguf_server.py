"""Process of `small_model.serve_gguf`: `python gguf_server.py PARENT MODEL NAME CONTEXT SLOTS`.

Prints the server's address as its only line on stdout. Imports nothing of ours, to start fast.
"""

from __future__ import annotations

import os
import sys
import threading
import time


def leave_with(parent: int) -> None:
    """Ends this process with its parent."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(0)


def main(parent: str, model: str, name: str, context: str, slots: str) -> None:
    """Serves until parent or signal end it."""
    threading.Thread(target=leave_with, args=(int(parent),), daemon=True).start()
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = model
    params.model_alias = {name}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_parallel = int(slots)
    params.n_ctx = int(context) * int(slots)
    # Its threads spin while waiting: with one a core, any other busy process slows it tenfold.
    threads = max(1, len(os.sched_getaffinity(0)) - 1)
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.verbosity = -1
    params.ui = False
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
