"""``python -m kbridge``: the same as the command ``kbridge``."""

import sys

from kbridge.cli import main

sys.exit(main())
