"""Seeds across processes; conformance/cases/random.py and distributions.py test the rest."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from conftest import Script

PROGRAM = """
import numpy as np


def draws(K):
    np.random.seed(3)
    x = K.placeholder((40,))
    f = K.function([x], [
        K.random_normal((3,), seed=1),
        K.random_uniform((3,), seed=-2),
        K.truncated_normal((3,), seed=2**40),
        K.dropout(x, 0.5, seed=4),
        K.random_normal((3,)),
    ])
    found = [*f([np.ones(40)]), *f([np.ones(40)])]
    t = K.random_uniform((3,), seed=5)
    found += [K.eval(t), K.eval(t), K.get_value(K.random_normal_variable((3,), 0.0, 1.0, seed=6))]
    return [value.tolist() for value in found]
"""


@pytest.mark.slow
def test_seeds_repeat_the_draws_in_another_process(K: Any, script: Script) -> None:
    """Explicit ones, and those that np.random gives."""
    namespace: dict[str, Any] = {}
    exec(PROGRAM, namespace)
    draws: Callable[[Any], list[Any]] = namespace["draws"]
    here = draws(K)
    code = f"import json, kbridge\nprint(json.dumps(draws(kbridge.load_backend({K.name!r}))))"
    done = script(PROGRAM + code, TF_CPP_MIN_LOG_LEVEL="3")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == here
    assert here[:5] != here[5:10], "the second call draws anew"
