"""Operations called wrongly: the error's classes and text, the same on every engine."""

from __future__ import annotations

import numpy as np

from kbridge import errors
from kbridge.conformance.records import fault

E = errors


# --- ranks, sizes, axes --------------------------------------------------------------------------

fault(
    "dot-sizes",
    lambda K, t: K.dot(t(2, 3), t(2, 4)),
    E.ShapeError,
    ValueError,
    text=r"^K\.dot: .*\(2, 3\).*\(2, 4\).*3 != 2",
)
fault(
    "batch-dot-batch-axis",
    lambda K, t: K.batch_dot(t(2, 2), t(2, 2), axes=0),
    E.AxisError,
    ValueError,
    text=r"^K\.batch_dot: .*axis 0",
)
fault(
    "batch-dot-sizes",
    lambda K, t: K.batch_dot(t(7, 3), t(7, 4)),
    E.ShapeError,
    ValueError,
    text=r"^K\.batch_dot: .*\(7, 3\).*\(7, 4\).*\(1, 1\).*3 != 4",
)
fault(
    "batch-dot-batches",
    lambda K, t: K.batch_dot(t(2, 3), t(4, 3), axes=1),
    E.ShapeError,
    text=r"^K\.batch_dot: .*batch.*2 != 4",
)
fault(
    "batch-dot-batch-of-one",
    lambda K, t: K.batch_dot(t(2, 3, 4), t(1, 4, 5)),
    E.ShapeError,
    text=r"^K\.batch_dot: .*batch.*2 != 1",
)
fault(
    "batch-dot-rank",
    lambda K, t: K.batch_dot(t(3), t(3)),
    E.ShapeError,
    text=r"^K\.batch_dot: .*batch axis",
)
for _name, _call in {
    "softmax": lambda K, t: K.softmax(t(2, 3), axis=None),
    "argmax": lambda K, t: K.argmax(t(2, 3), axis=None),
    "argmin": lambda K, t: K.argmin(t(2, 3), axis=None),
    "expand-dims": lambda K, t: K.expand_dims(t(2, 3), axis=(0,)),
    "sum": lambda K, t: [K.sum(t(2, 3), axis=1), K.sum(t(2, 3), axis=1.0)],
}.items():
    fault(
        f"{_name}-axis-is-an-integer",
        _call,
        E.ArgumentTypeError,
        TypeError,
        text=r"^K\.\w+: (an )?axis must be an integer",
    )
fault(
    "axis-out-of-range",
    lambda K, t: K.sum(t(2, 3), axis=2),
    E.AxisError,
    IndexError,
    ValueError,
    text=r"^K\.sum: .*axis 2 .*rank 2.*x=.*\(2, 3\)",
)
fault(
    "axis-given-twice",
    lambda K, t: K.mean(t(2, 3), axis=(1, -1)),
    E.AxisError,
    text=r"^K\.mean: axis 1 is given twice",
)
fault(
    "axis-no-integer",
    lambda K, t: K.max(t(2, 3), axis=1.5),
    E.ArgumentTypeError,
    TypeError,
    text=r"^K\.max: axis must be an integer, got 1\.5",
)
fault(
    "axis-a-string",
    lambda K, t: K.argmax(t(2, 3), axis="last"),
    E.ArgumentTypeError,
    TypeError,
    text=r"^K\.argmax: axis must be an integer, got 'last'",
)
fault(
    "axis-of-a-scalar",
    lambda K, t: K.softmax(t()),
    E.AxisError,
    text=r"^K\.softmax: axis -1 .*rank 0",
    ways="recorded",
)
fault(
    "argmax-of-nothing",
    lambda K, t: K.argmax(t(2, 0), axis=1),
    E.ShapeError,
    text=r"^K\.argmax: axis 1 of \(2, 0\) is empty",
)
fault(
    "broadcast",
    lambda K, t: K.maximum(t(2, 3), t(2)),
    E.ShapeError,
    ValueError,
    text=r"^K\.maximum: cannot broadcast \(2, 3\) with \(2,\).*3 and 2",
)
fault(
    "broadcast-operator",
    lambda K, t: t(2, 3) + t(4, 3),
    E.ShapeError,
    ValueError,
    text=r"^K\.add: cannot broadcast \(2, 3\) with \(4, 3\)",
    ways="recorded",
)
fault(
    "reshape-count",
    lambda K, t: K.reshape(t(2, 3), (4, -1)),
    E.ShapeError,
    text=r"^K\.reshape: cannot reshape \(2, 3\)",
)
fault(
    "reshape-two-open",
    lambda K, t: K.reshape(t(2, 3), (-1, -1)),
    E.ArgumentError,
    text=r"^K\.reshape: only one size can be -1",
)
fault(
    "permute-pattern",
    lambda K, t: K.permute_dimensions(t(2, 3, 4), (0, 1)),
    E.AxisError,
    text=r"^K\.permute_dimensions: pattern \(0, 1\) has 2 axes",
)
fault(
    "permute-twice",
    lambda K, t: K.permute_dimensions(t(2, 3), (0, 0)),
    E.AxisError,
    text=r"^K\.permute_dimensions: axis 0 is given twice",
)
fault(
    "squeeze-size",
    lambda K, t: K.squeeze(t(2, 3), 1),
    E.ShapeError,
    text=r"^K\.squeeze: axis 1 of \(2, 3\) has size 3",
)
fault(
    "expand-dims-axis",
    lambda K, t: K.expand_dims(t(2, 3), 4),
    E.AxisError,
    text=r"^K\.expand_dims: axis 4",
)
fault(
    "concatenate-sizes",
    lambda K, t: K.concatenate([t(2, 3), t(3, 3)], axis=1),
    E.ShapeError,
    text=r"^K\.concatenate: .*axis 0 is 2 and 3",
)
fault(
    "concatenate-ranks",
    lambda K, t: K.concatenate([t(2, 3), t(3)]),
    E.ShapeError,
    text=r"^K\.concatenate: the ranks of \(2, 3\) and \(3,\)",
)
fault(
    "concatenate-no-list",
    lambda K, t: K.concatenate(t(2, 3)),
    E.ArgumentTypeError,
    TypeError,
    text=r"^K\.concatenate: tensors must be a list",
)
fault(
    "stack-shapes",
    lambda K, t: K.stack([t(2, 3), t(2, 4)]),
    E.ShapeError,
    text=r"^K\.stack: .*axis 1 is 3 and 4",
)
fault(
    "repeat-rank",
    lambda K, t: K.repeat(t(2, 3, 4), 2),
    E.ShapeError,
    text=r"^K\.repeat: expected a matrix",
)
fault(
    "slice-too-long",
    lambda K, t: K.slice(t(3, 4), (0, 2), (2, 3)),
    E.ShapeError,
    text=r"^K\.slice: .*past axis 1 of \(3, 4\)",
)
fault(
    "slice-entries",
    lambda K, t: K.slice(t(3, 4), (0,), (2,)),
    E.ArgumentError,
    text=r"^K\.slice: .*entry for each of the 2 axes",
)
fault(
    "padding-rank",
    lambda K, t: K.spatial_2d_padding(t(2, 3)),
    E.ShapeError,
    text=r"rank 4.*\(2, 3\)",
)
fault(
    "padding-form",
    lambda K, t: K.spatial_2d_padding(t(1, 2, 2, 1), (1, 2, 3)),
    E.ArgumentError,
    text=r"padding \(1, 2, 3\) does not fit 2 spatial axes",
)
fault(
    "index-beyond",
    lambda K, t: t(2, 3)[2],
    E.IndexRangeError,
    IndexError,
    text=r"^K\.getitem: index 2 is out of range for axis 0",
    ways="recorded",
)
fault(
    "too-many-indices",
    lambda K, t: t(2, 3)[0, 0, 0],
    E.AxisError,
    IndexError,
    text=r"^K\.getitem: 3 indices are too many",
    ways="recorded",
)
fault(
    "index-by-a-mask",
    lambda K, t: t(2, 3)[t(2, 3) > 0.5],
    E.KBridgeError,
    text=r"^K\.getitem: .*K\.switch",
    ways="recorded",
)

# --- values and forms of arguments ---------------------------------------------------------------

fault(
    "pool-mode",
    lambda K, t: K.pool2d(t(1, 4, 4, 1), (2, 2), pool_mode="sum"),
    E.ArgumentError,
    text=r'^K\.pool2d: pool_mode must be "max" or "avg", got \'sum\'',
)
fault(
    "pool-window",
    lambda K, t: K.pool2d(t(1, 2, 2, 1), (3, 3)),
    E.ShapeError,
    text=r"^K\.pool2d: a window of 3 does not fit",
)
fault(
    "pool-rank",
    lambda K, t: K.pool2d(t(4, 4, 1), (2, 2)),
    E.ShapeError,
    text=r"^K\.pool2d: the input \(4, 4, 1\) has rank 3, expected 4",
)
fault(
    "pool-size-entries",
    lambda K, t: K.pool2d(t(1, 4, 4, 1), (2, 2, 2)),
    E.ArgumentError,
    text=r"^K\.pool2d: pool_size must be one integer or 2 of them, got \(2, 2, 2\)",
)
fault(
    "pool-strides-zero",
    lambda K, t: K.pool2d(t(1, 4, 4, 1), (2, 2), (0, 1)),
    E.ArgumentError,
    text=r"^K\.pool2d: strides must be positive, got \(0, 1\)",
)
fault(
    "pool3d-rank",
    lambda K, t: K.pool3d(t(1, 4, 4, 1), (2, 2, 2)),
    E.ShapeError,
    text=r"^K\.pool3d: the input \(1, 4, 4, 1\) has rank 4, expected 5",
)
fault(
    "pool3d-mode",
    lambda K, t: K.pool3d(t(1, 2, 2, 2, 1), 2, pool_mode="mean"),
    E.ArgumentError,
    text=r'^K\.pool3d: pool_mode must be "max" or "avg", got \'mean\'',
)
fault(
    "pool3d-window",
    lambda K, t: K.pool3d(t(1, 2, 2, 2, 1), (2, 3, 2)),
    E.ShapeError,
    text=r"^K\.pool3d: a window of 3 does not fit",
)
fault(
    "pool3d-padding",
    lambda K, t: K.pool3d(t(1, 2, 2, 2, 1), 2, padding="causal"),
    E.ArgumentError,
    text=r'^K\.pool3d: padding must be "valid" or "same", got \'causal\'',
)
fault(
    "resize-rank",
    lambda K, t: K.resize_images(t(2, 3, 1), 2, 2, "channels_last"),
    E.ShapeError,
    text=r"^K\.resize_images: a tensor of rank 4 is needed, .*got the shape \(2, 3, 1\)",
)
fault(
    "resize-factor-fraction",
    lambda K, t: K.resize_images(t(1, 2, 3, 1), 1.5, 2, "channels_last"),
    E.ArgumentTypeError,
    TypeError,
    text=r"^K\.resize_images: height_factor must be an integer, got 1\.5",
)
fault(
    "resize-factor-zero",
    lambda K, t: K.resize_images(t(1, 2, 3, 1), 2, 0, "channels_last", "bilinear"),
    E.ArgumentError,
    text=r"^K\.resize_images: width_factor must be at least 1, got 0",
)
fault(
    "resize-interpolation",
    lambda K, t: K.resize_images(t(1, 2, 3, 1), 2, 2, "channels_last", interpolation="bicubic"),
    E.ArgumentError,
    ValueError,
    text=r'^K\.resize_images: interpolation must be "nearest" or "bilinear", got \'bicubic\'',
)
fault(
    "resize-data-format",
    lambda K, t: K.resize_images(t(1, 2, 3, 1), 2, 2, "NHWC"),
    E.KBridgeError,
    ValueError,
    text=r"^K\.resize_images: .*NHWC",
)
fault(
    "resize-volumes-rank",
    lambda K, t: K.resize_volumes(t(1, 2, 3, 1), 2, 2, 2, "channels_last"),
    E.ShapeError,
    text=r"^K\.resize_volumes: a tensor of rank 5 is needed, .*got the shape \(1, 2, 3, 1\)",
)
fault(
    "resize-volumes-factor",
    lambda K, t: K.resize_volumes(t(1, 1, 2, 3, 1), True, 2, 2, "channels_last"),
    E.ArgumentTypeError,
    text=r"^K\.resize_volumes: depth_factor must be an integer, got True",
)
fault(
    "pattern-broadcast-size",
    lambda K, t: K.pattern_broadcast(t(2, 3), (False, True)),
    E.ShapeError,
    text=r"^K\.pattern_broadcast: axis 1 of \(2, 3\) cannot broadcast: its size is 3",
)
fault(
    "pattern-broadcast-entries",
    lambda K, t: K.pattern_broadcast(t(2, 1), (False,)),
    E.ArgumentError,
    text=r"^K\.pattern_broadcast: .*each of the 2 axes of \(2, 1\)",
)
fault(
    "pattern-broadcast-no-list",
    lambda K, t: K.pattern_broadcast(t(2, 1), True),
    E.ArgumentTypeError,
    TypeError,
    text=r"^K\.pattern_broadcast: broadcastable must be a list of truth values, got True",
)
fault(
    "padding-negative",
    lambda K, t: K.temporal_padding(t(1, 2, 1), (1, -1)),
    E.ArgumentError,
    text=r"^K\.temporal_padding: padding must be at least 0, got \(1, -1\)",
)
fault(
    "padding-3d-form",
    lambda K, t: K.spatial_3d_padding(t(1, 2, 2, 2, 1), ((1, 1), (1, 1))),
    E.ArgumentError,
    text=r"^K\.spatial_3d_padding: padding .* does not fit 3 spatial axes",
)
fault(
    "bias-size",
    lambda K, t: K.bias_add(t(2, 3), t(4)),
    E.ShapeError,
    text=r"^K\.bias_add: the bias \(4,\) does not fit \(2, 3\): 4 != 3",
)
fault(
    "bias-rank",
    lambda K, t: K.bias_add(t(2, 4, 4, 3), t(4, 3)),
    E.ShapeError,
    text=r"^K\.bias_add: the bias \(4, 3\) has rank 2, expected 1 .*or 3",
)
fault(
    "normalization-axis",
    lambda K, t: K.batch_normalization(t(2, 3), t(3), t(3), None, None, axis=2),
    E.AxisError,
    text=r"^K\.batch_normalization: axis 2",
)
fault(
    "cast-dtype",
    lambda K, t: K.cast(t(2), "float8"),
    E.DTypeError,
    TypeError,
    ValueError,
    text=r"^K\.cast: 'float8' is not a dtype.*float32",
)
fault(
    "dropout-level",
    lambda K, t: K.dropout(t(2), 1.0),
    E.ArgumentError,
    text=r"^K\.dropout: level must be at least 0 and less than 1, got 1\.0",
)
fault(
    "switch-condition-rank",
    lambda K, t: K.switch(t(2, 3), t(2), t(2)),
    E.ArgumentError,
    text=r"^K\.switch: the condition has rank 2, more than the branches' rank 1",
)
fault(
    "switch-branch-ranks",
    lambda K, t: K.switch(K.placeholder(()), t(2, 3), t(2)),
    E.ArgumentError,
    text=r"one rank.*\(2, 3\).*\(2,\)",
    ways="recorded",
)
fault(
    "sparse-targets-rank",
    lambda K, t: K.sparse_categorical_crossentropy(t(4, 3, 2, dtype="int32"), t(4, 3)),
    E.ShapeError,
    text=r"^K\.sparse_categorical_crossentropy: the targets' rank",
)
fault(
    "sparse-targets-sizes",
    lambda K, t: K.sparse_categorical_crossentropy(t(1, dtype="int32"), t(4, 3), from_logits=True),
    E.ShapeError,
    text=r"^K\.sparse_categorical_crossentropy: outputs of \(4, 3\).* of \(4,\), got \(1,\)",
)
fault(
    "crossentropy-axis",
    lambda K, t: K.categorical_crossentropy(t(4, 3), t(4, 3), axis=2),
    E.AxisError,
    text=r"axis 2",
)
fault(
    "gather-out-of-range",
    lambda K, t: K.eval(K.gather(K.variable([1.0, 2.0]), K.constant([2], dtype="int32"))),
    E.IndexRangeError,
    IndexError,
    ValueError,
    text=r"^K\.gather: .*2.*\[0, 2\)",
    ways="once",
)
fault(
    "gather-native",
    lambda K, t: K.gather(t(2, 3), t(value=[0, -1], dtype="int32")),
    E.IndexRangeError,
    text=r"^K\.gather: .*-1.*\[0, 2\)",
    ways="native",
)
fault(
    "no-tensor",
    lambda K, t: K.square("text"),
    E.ArgumentTypeError,
    TypeError,
    text=r"^K\.square: expected a tensor.*str",
    ways="once",
)
fault(
    "none-as-tensor",
    lambda K, t: K.dot(t(2, 3), None),
    E.ArgumentTypeError,
    TypeError,
    text=r"^K\.dot: .*None",
)
fault(
    "unknown-dtype",
    lambda K, t: K.variable(1.0, dtype="quux"),
    E.DTypeError,
    TypeError,
    text=r"'quux' is not a dtype",
    ways="once",
)
fault(
    "size-none",
    lambda K, t: K.zeros((None, 2)),
    E.ArgumentError,
    text=r"None.*K\.shape\(x\)",
    ways="once",
)
fault(
    "constant-shape",
    lambda K, t: K.constant([1.0, 2.0, 3.0], shape=(2, 2)),
    E.ShapeError,
    text=r"cannot reshape \(3,\) to \(2, 2\)",
    ways="once",
)
fault(
    "placeholder-of-nothing",
    lambda K, t: K.placeholder(),
    E.ArgumentError,
    ValueError,
    text=r"^K\.placeholder: give shape=.* or ndim=",
    ways="once",
)
fault(
    "learning-phase-value",
    lambda K, t: K.set_learning_phase(2),
    E.ArgumentError,
    ValueError,
    text=r"^K\.set_learning_phase: expected 0 .* or 1 .*got 2",
    ways="once",
)
fault(
    "count-params-open",
    lambda K, t: K.count_params(K.placeholder((None, 2))),
    E.GraphError,
    text=r"^K\.count_params: .*K\.size",
    ways="once",
)
fault(
    "is-keras-tensor-of-an-array",
    lambda K, t: K.is_keras_tensor(np.ones(2)),
    E.KBridgeError,
    ValueError,
    text=r"^K\.is_keras_tensor: .*ndarray",
    ways="once",
)
fault(
    "set-floatx",
    lambda K, t: K.set_floatx("float8"),
    E.ConfigError,
    ValueError,
    text=r"float8",
    ways="once",
)
fault(
    "set-epsilon",
    lambda K, t: K.set_epsilon("xxx"),
    E.ConfigError,
    ValueError,
    text=r"xxx",
    ways="once",
)
fault(
    "set-image-data-format",
    lambda K, t: K.set_image_data_format("NHWC"),
    E.KBridgeError,
    ValueError,
    text=r"NHWC",
    ways="once",
)
