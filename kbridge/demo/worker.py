"""One backend's part of the demo, in a process of its own: only that engine is imported.

``python -m kbridge.demo.worker JSON`` writes one line of JSON for each event: the seconds that
loading took, then each epoch, or a public error.
"""

from __future__ import annotations

import json
import os
import sys
import time

import kbridge
from kbridge import config
from kbridge.errors import BrokenBackendError, KBridgeError


def main() -> int:
    """Run what the argument asks for."""
    options = json.loads(sys.argv[1])
    # Engines may print; the lines that the parent reads stay apart from theirs.
    events = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def emit(**event: object) -> None:
        print(json.dumps(event), file=events, flush=True)

    try:
        start = time.perf_counter()
        K = kbridge.load_backend(options["backend"])
        emit(load=time.perf_counter() - start)
        config.set_floatx("float32")  # whatever keras.json says: results are to be compared

        from kbridge.demo.training import train

        for model in options["models"]:
            for epoch in train(K, model, **options["training"]):
                emit(**epoch._asdict())
    except BrokenBackendError:
        raise  # its message needs the traceback, whose end the parent shows
    except KBridgeError as error:
        emit(error=str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
