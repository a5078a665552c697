"""The conformance suite: every backend against closed forms and against the NumPy backend.

``kbridge check BACKEND`` runs it from an installed kbridge, ``pytest conformance --backend
BACKEND`` in a checkout. The cases of an operation are one record in :mod:`.cases`, in the file
that the operation has in ``kbridge/api``; every check of it is derived from the record.
"""
