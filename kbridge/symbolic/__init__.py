"""The graph: tensors, variables, nodes, the rules for their shapes and dtypes, and plans."""

# First, or the modules below would import kbridge.api, which binds a backend, which imports them.
from kbridge import binding as _binding  # noqa: F401
