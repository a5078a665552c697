"""Adjoints: what gradients need beyond the K functions."""
