"""Golden values: what Keras 2.3.1 itself computes for the cases of the suite.

An oracle that shares nothing with kbridge. ``values.npz`` holds the results and gradients of the
cases of ``conformance/cases`` and of the programs in ``programs``, from Keras 2.3.1 on
TensorFlow 1.15, and on Theano 1.0 where TensorFlow's raises or has another answer. The suite
compares the NumPy backend with them; where the two may differ, ``differences.py`` says why.

``make golden PYTHON37=...`` writes the file anew. It takes a Python 3.7 for the old packages, which
it installs into ``build/golden``, runs ``export`` (the calls and operands of the cases, in a
neutral file), ``keras_run.py`` there once for each of the two, and ``merge``. Only what has changed
is computed; without ``build/golden`` all is, in a few minutes. To look at what came of it::

    python -m kbridge.conformance.golden differ [OPERATION ...]  # where NumPy and Keras differ
    python -m kbridge.conformance.golden missing                 # what has no golden value

A case is exported as the calls that it makes (``tracing.py``). Left out are dtypes that Keras
lacks, bfloat16 above all, and what only some call of Python's own would show.
"""
