"""The graph: tensors, variables, nodes, the rules for their shapes and dtypes, and plans."""
