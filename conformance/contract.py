"""The names and signatures of the contract, read from the copy of it that is packaged here."""

from __future__ import annotations

import json
from importlib import resources

_CONTRACT = json.loads(
    resources.files("kbridge.conformance").joinpath("contract.json").read_text("utf-8")
)

#: Names and signatures of Keras 2.3.1 and its documentation, and of what came later.
NAMES: dict[str, str] = _CONTRACT["names"]
#: What kbridge adds.
ADDED: dict[str, str] = _CONTRACT["added"]
#: Older spellings, and the names they have now.
OLD_NAMES: dict[str, str] = _CONTRACT["old_names"]
