"""``from kbridge import backend as K``: the drop-in spelling of ``from keras import backend as K``.

The module replaces itself by :mod:`kbridge.api`, so that both names are one object: the state
and the functions exist once.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import kbridge.api

if TYPE_CHECKING:  # type checkers and editors follow this line, and never see the next one run
    from kbridge.api import *  # noqa: F403  # the two modules have one list of names

sys.modules[__name__] = kbridge.api
