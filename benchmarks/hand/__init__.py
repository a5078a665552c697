"""The training steps of :mod:`benchmarks.networks` by hand: ``step(model)`` on each engine."""
