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

#: Parts of the contract that are not built yet. Strict: a name that is there after all fails.
NOT_BUILT = (
    "resize_images",
    "resize_volumes",
    "print_tensor",
    "rnn",
    "conv1d",
    "separable_conv1d",
    "separable_conv2d",
    "conv2d_transpose",
    "depthwise_conv2d",
    "conv3d",
    "conv3d_transpose",
    "pool3d",
    "ctc_label_dense_to_sparse",
    "ctc_batch_cost",
    "ctc_decode",
    "map_fn",
    "foldl",
    "foldr",
    "local_conv1d",
    "local_conv2d",
    "control_dependencies",
    "pattern_broadcast",
    "manual_variable_initialization",
    "get_session",
    "set_session",
    "learning_phase_scope",
    "lesser",
    "lesser_equal",
    "asymmetric_temporal_padding",
    "deconv2d",
    "deconv3d",
)
