"""How Sphinx builds the documentation: ``make docs`` runs it with warnings as errors."""

from __future__ import annotations

import os
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from docutils.parsers.rst import roles

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

# The build neither reads the settings of whoever builds nor leaves a keras.json.
_home = tempfile.TemporaryDirectory(prefix="kbridge-docs-")
os.environ.update(KERAS_HOME=_home.name, KERAS_BACKEND="numpy", TF_CPP_MIN_LOG_LEVEL="3")

import kbridge  # noqa: E402  # the environment must be set first
from kbridge.loader import BUILTIN  # noqa: E402

_absent = [name for name in BUILTIN if find_spec(name) is None]
if _absent:
    raise SystemExit(
        f"The support table needs all engines, but {', '.join(_absent)} cannot be imported. "
        f"Run 'make docs', which installs them, or: pip install -e '.[docs,{','.join(_absent)}]'"
    )

import pages  # noqa: E402  # it loads the engines

project = "kbridge"
author = "the kbridge developers"
release = version = kbridge.__version__
copyright = author

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["reference/_*"]
nitpicky = True
default_role = "literal"
highlight_language = "none"
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # as help(K.sum) shows a signature

html_theme = "furo"
html_title = f"kbridge {release}"
html_static_path = ["_static"]
html_css_files = ["kbridge.css"]
html_theme_options = {
    "light_css_variables": {
        "kb-native": "#dcfce7",
        "kb-native-text": "#14532d",
        "kb-composite": "#dbeafe",
        "kb-composite-text": "#1e3a8a",
        "kb-common": "#e5e7eb",
        "kb-common-text": "#1f2937",
        "kb-missing": "#fee2e2",
        "kb-missing-text": "#7f1d1d",
        "kb-yes": "#166534",
    },
    "dark_css_variables": {
        "kb-native": "#14532d",
        "kb-native-text": "#bbf7d0",
        "kb-composite": "#1e3a8a",
        "kb-composite-text": "#dbeafe",
        "kb-common": "#374151",
        "kb-common-text": "#e5e7eb",
        "kb-missing": "#7f1d1d",
        "kb-missing-text": "#fecaca",
        "kb-yes": "#86efac",
    },
}
html_show_sphinx = False
html_copy_source = False
add_function_parentheses = False
toc_object_entries_show_parents = "hide"


def _skip(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool:
    """K functions have their own pages."""
    module = getattr(obj, "__module__", "")
    return skip or (module == "kbridge.config" and name in pages.settings_elsewhere())


def _link(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Names in docstrings become links."""
    lines[:] = pages.linked("\n".join(lines)).split("\n")


def _signature(app: Any, what: str, *rest: Any) -> Any:
    """Classes are shown without one: K functions make their instances."""
    return ("", None) if what == "class" else None


def setup(app: Any) -> None:
    """Let pages show badges, and write the generated ones before Sphinx looks for its sources."""
    for name in (*pages.support.FORMS, "yes", "no"):
        badge = roles.CustomRole(name, roles.generic_custom_role, {"class": ["badge", name]})
        app.add_role(name, badge)
    app.connect("autodoc-skip-member", _skip)
    app.connect("autodoc-process-docstring", _link)
    app.connect("autodoc-process-signature", _signature)
    app.connect("builder-inited", lambda app: pages.write(HERE / "reference"))
