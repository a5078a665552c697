"""Getting on with programs of another age: see :mod:`kbridge.compat.keras2`."""
