"""In what kbridge and Keras 2.3.1 differ, and why: the only place where that is allowed.

Strict: a difference that stands nowhere here fails the test, and so does an entry that no
difference needs any more. Each has one of these reasons: it was decided otherwise; Keras has
two answers, one on TensorFlow and one on Theano; Keras refuses the call; Keras is less exact.
"""

from __future__ import annotations

import fnmatch
import re
from typing import NamedTuple


class Known(NamedTuple):
    """Differences of one kind, at one place or at all that a pattern names."""

    kind: str  # "memory": any, and none as well
    place: str
    text: str
    reason: str

    def covers(self, label: str) -> bool:
        return fnmatch.fnmatchcase(label, self.place)

    def explains(self, label: str, kind: str, text: str) -> bool:
        same = self.kind in (kind, "memory")
        return same and self.covers(label) and bool(re.search(self.text, text))


KNOWN: list[Known] = []


def known(kind: str, places: str, reason: str, text: str = "") -> None:
    """Allow differences of a kind (see :class:`compared.Difference`) at places.

    ``places`` are labels, ``operation/case/run`` or the name of a program; behind the first ``/``
    a ``*`` stands for anything. ``text`` is a regular expression that what is reported must
    match, such as a part of Keras's error.
    """
    KNOWN.extend(Known(kind, place, text, reason) for place in places.split())


#: Functions of the contract of which there is no golden value.
WITHOUT = {
    "backend": "it is the backend's name",
    "eager": "in Keras 2.3.1 it needs TensorFlow 2",
}

#: Functions of which Theano's results say nothing.
TENSORFLOW_ALONE = {
    "ctc_batch_cost": "on Theano it has one row of costs, in float64, some of them negative",
}

# --- decided otherwise ---------------------------------------------------------------------------

known(
    "dtype",
    "zeros_like/2x3/* zeros_like/i2x3/* zeros_like/b2x3/*"
    " ones_like/2x3/* ones_like/i2x3/* ones_like/b2x3/*",
    "the documentation's text says the dtype of x; Keras's code takes floatx",
    "in Keras float32$",
)
known(
    "theano",
    "a_placeholder_of_nothing",
    "ValueError, as documented; Keras on TensorFlow makes a placeholder of unknown rank",
)
known(
    "theano",
    "fixed_contents",
    "ones of a shape with a 0 are a variable like all others",
)
known(
    "dtype",
    "sqrt/* exp/* log/* sin/* cos/* divide/* std/* logsumexp/* elu/* softplus/* softsign/*"
    " sigmoid/* tanh/* hard_sigmoid/*",
    "integers become floatx; TensorFlow refuses them, Theano makes them float64",
    "^float32, in Keras float64$",
)
known(
    "dtype",
    "clip/i3x4,0,None/recorded",
    "a bound left open leaves integers as they are; TensorFlow refuses it, Theano makes floats",
)
known(
    "dtype",
    "mean/* var/* relu/* conv1d/* conv2d/* conv2d_transpose/* separable_conv2d/* local_conv1d/*"
    " local_conv2d/* pool2d/* pool3d/*",
    "integers become floatx",
    "^float32, in Keras u?int(8|32|64)$",
)
known(
    "theano",
    "mean/2x3/*int* mean/i3x4,axis=0/recorded var/2x3/int32 var/i3x4,axis=0/recorded",
    "the mean of integers is no integer; TensorFlow rounds it",
)
known(
    "value",
    "pool2d/integers/recorded pool2d/*/int32 pool3d/1x3x4x2x2,2_2_2,pool_mode=avg/int32"
    " pool3d/avg_window_over_all/int32",
    "the mean of integers is no integer; TensorFlow refuses them, Theano rounds it",
)
known(
    "dtype",
    "sum/* prod/* cumsum/* cumprod/*",
    "truth values are counted in int32; TensorFlow refuses them, Theano counts in int64",
    "^int32, in Keras int64$",
)
for _kind in ("dtype", "value"):
    known(
        _kind,
        "logical_and/i3x4,i3x4/recorded logical_or/i3x4,i3x4/recorded"
        " logical_xor/i3x4,i3x4/recorded",
        "the operators are of truth values; TensorFlow refuses integers, Theano combines bits",
    )
known(
    "value",
    "maximum/ties/gradient minimum/ties/gradient",
    "where both are equal each gets half of the gradient; in Keras the first gets all of it",
    r"is 0\.5, in Keras [01]\.0",
)
known(
    "value",
    "pool3d/ties/gradient",
    "the first of equal elements gets the gradient, as in two dimensions; in Keras each gets all",
)
known(
    "value",
    "rnn/lengths/* rnn/lengths_backwards/*",
    "lengths mask what is behind them, as later versions document; Keras 2.3.1 does not look",
)
known(
    "value",
    "relu/at_threshold/recorded",
    "an element at the threshold passes, as in the documented formula",
)
known(
    "dtype",
    "ctc_label_dense_to_sparse/*",
    "sparse tensors are of float32 or float64",
    "^float32, in Keras (int32|float16)$",
)
known(
    "value",
    "ctc_labels",
    "sparse tensors are of float32 or float64",
    "dtype is float32, should be int32",
)
known(
    "value",
    "ctc_batch_cost/ended_by_a_blank/*",
    "blanks alone are an empty label; TensorFlow refuses one, but counts other paths for blanks",
)
known(
    "value",
    "ctc_batch_cost/impossible/gradient",
    "where the cost is inf it has a gradient of 0; in Keras that of the classes' probabilities",
)

# --- Keras has two answers -----------------------------------------------------------------------

known(
    "theano",
    "maximum/special/recorded minimum/special/recorded max/special/recorded min/special/recorded",
    "the greatest of nan and a number is nan; TensorFlow lets it depend on the order",
)
known(
    "theano",
    "batch_flatten/2x0x3/recorded",
    "the first axis stays; TensorFlow counts what an axis of size 0 leaves open",
)
known(
    "theano",
    "getitem/list/recorded getitem/list/gradient",
    "a list picks rows, as in NumPy; TensorFlow takes it for a tuple",
)
known(
    "theano",
    "binary_crossentropy/4,4/* binary_crossentropy/2x3,2x3/gradient"
    " binary_crossentropy/scalar,scalar/gradient",
    "probabilities are kept off 0 and 1 once; on TensorFlow Keras adds epsilon once more",
    r"error [0-9.]+e-0[567]",
)
known(
    "value",
    "binary_crossentropy/2x1,2x3/gradient",
    "the same, with shapes that Theano refuses",
    r"error [0-9.]+e-0[567]",
)
known(
    "value",
    "conv1d/*/int32 conv1d/integers/recorded conv2d/*/int32 conv2d/integers/recorded"
    " conv2d_transpose/*/int32 conv2d_transpose/integers/recorded",
    "kernels are not turned around, as on TensorFlow, which refuses integers; on Theano they are",
)
known(
    "value",
    "normalize_batch_in_training/2x2x2x3,3,3,0_1_2/recorded",
    "the variance is that of the batch; TensorFlow's fused kernel alone divides by n - 1",
)
known(
    "value",
    "pool3d/window_over_all/float64 pool3d/window_over_all/int32",
    "windows lie as on TensorFlow, which refuses these dtypes in three dimensions",
)
known(
    "shape",
    "conv2d_transpose/dilated/recorded",
    "a size left out allows for the dilation; TensorFlow wants it given, Theano forgets it",
)

# --- Keras refuses it ----------------------------------------------------------------------------

known(
    "refused",
    "cast/2x3,bfloat16/recorded",
    "a file of NumPy's cannot hold bfloat16",
    "array of bfloat16",
)
known(
    "refused", "logical_not/numbers/recorded", "a number is true where it is not 0", "'x' of 'Log"
)
known("refused", "matmul/*", "vectors follow NumPy's rules", "rank 2 but is rank 1")
known("refused", "reshape/2x3,-1_2/*", "one size may be a number", "rank 1 but is rank 0")
known("refused", "tile/2,2_3/*", "more repeats than axes add axes in front", "NotImplemented")
known(
    "refused",
    "temporal_padding/* spatial_2d_padding/* spatial_3d_padding/*",
    "one number, one for each axis and pairs are accepted, as some versions document",
    r"has no len\(\)|Assertion",
)
known(
    "refused",
    "sparse_dot/plain/* sparse_dot/integers/recorded sparse_dot/vector/gradient",
    "mixed dtypes meet by kbridge's table",
    "does not match type float32",
)
known("refused", "sparse_dot/vector/recorded", "a vector is no matrix there", "must be rank 2")
known(
    "refused",
    "sparse_dot/*right* sparse_dot/rank*",
    "a dense tensor times a sparse one is refused by Keras",
    "SparseTensor'> to Tensor",
)
known(
    "refused",
    "batch_normalization/*",
    "one value for each channel is enough on any axis; Keras wants them to broadcast",
    "Dimensions must be equal",
)
known(
    "refused",
    "normalize_batch_in_training/4x3,3,None,-2/*",
    "axes may be negative",
    "Cannot reshape",
)
known(
    "refused",
    "categorical_crossentropy/2x3x4,2x3x4,True,-2/*",
    "axes may be negative beside logits too",
    "Requires start <= limit",
)
known(
    "refused",
    "sparse_categorical_crossentropy/* print_tensor/* resize_images/* rnn/*",
    "arguments that came after Keras 2.3.1: ignore_class, summarize, half_pixel_centers,"
    " time_major, zero_output_for_mask, return_all_outputs",
    "unexpected keyword argument|positional arguments but",
)
known(
    "refused",
    "resize_images/format_of_the_configuration/*",
    "None is the configured data format",
    "Received: None",
)
known("refused", "resize_images/bilinear_no_column/*", "a size may be 0", "must be positive")
known(
    "refused",
    "conv3d/*/int32 conv3d/integers/recorded conv3d_transpose/*/int32"
    " conv3d_transpose/integers/recorded depthwise_conv2d/*/int32 depthwise_conv2d/integers/*"
    " separable_conv1d/*/int32 separable_conv1d/integers/* separable_conv2d/*/int32",
    "integers become floatx",
    "DataType int32 not in list",
)
known("refused", "conv1d/tuples/*", "a number may stand in a tuple", "rate must be rank 1")
known(
    "refused",
    "conv1d/1x2x5,2x2x3,1,causal,first/* conv1d/nothing_causal/*",
    "causal padding goes with both data formats",
    "When using causal padding",
)
known(
    "refused",
    "depthwise_conv2d/*strides_differ/* separable_conv2d/strides_differ/gradient",
    "strides may differ, as documented; TensorFlow 1 refuses it",
    "equal length strides",
)
known(
    "refused",
    "conv2d_transpose/same_stride2_odd/* conv2d_transpose/dilated/* conv3d_transpose/*",
    "output_shape may leave sizes open, or be left out",
    "NOT CONVERTIBLE|None values|AssertionError",
)
known(
    "refused",
    "pool3d/1x2x0x2x1,2,2,same/*",
    "a size may be 0",
    "signal 8",
)
known(
    "shape",
    "pool3d/1x2x0x2x1,2,2,same,pool_mode=avg/gradient",
    "a size may be 0; TensorFlow's gradient has another shape than the input",
)
known(
    "refused",
    "ctc_batch_cost/*/float16 ctc_decode/*/float16 ctc_search/*/float16",
    "all float dtypes work",
    "DataType float16 not in list",
)
known(
    "refused",
    "ctc_batch_cost/* ctc_label_dense_to_sparse/*",
    "lengths may be a vector or a column; there may be one time step, no sample, no label, and a"
    " sample that is not valid costs nan alone",
    "squeeze dim|enters the loop|length is zero|must not be 0|signal 11|Not enough time"
    "|sequence_length|nonnegative|rank 0 but is rank 1",
)
known(
    "refused",
    "ctc_decode/* ctc_search/*",
    "lengths may be a column, there may be no time step, and fewer paths than asked for",
    "rank 1 but is rank 2|max_time is 0|Less leaves",
)
known(
    "refused",
    "foldl/no_elements/gradient foldr/no_elements/gradient",
    "there may be no elements",
    "TensorArray has size zero",
)
known(
    "refused",
    "local_conv1d/2x2x4,3x4x3,2,1,data_format=first/* local_conv1d/first_stride2/*",
    "the data format that is given holds; Keras slices as if the channels were last",
    "Dimension",
)

# --- Keras is less exact -------------------------------------------------------------------------

known(
    "value",
    "relu/2x3,0.1/gradient relu/2x3,alpha=0.3/gradient",
    "Keras rounds a number to float32 also beside float64",
    r"error [0-9.]+e-0[89]",
)
known(
    "value",
    "pow/zeroth/gradient",
    "the gradient of x ** 0 is 0 also at 0; Keras multiplies 0 with infinity",
    "is 0.0, in Keras nan",
)
known(
    "value",
    "cumprod/zeros/gradient",
    "the gradient of a product with zeros is a number; Keras divides by them",
    "in Keras nan",
)
known(
    "value",
    "batch_normalization/2x2x2x3,3,3,3,3,epsilon=0.1/gradient",
    "TensorFlow's fused kernel has no gradient by mean and variance",
    "in Keras None",
)
known(
    "value",
    "normalize_batch_in_training/2x2x2x3,3,3,0_1_2/gradient",
    "TensorFlow's fused kernel leaves out what goes through its mean and variance",
)
known(
    "dtype",
    "resize_images/2x2x3x2,2,3,last,bilinear/*",
    "the dtype is kept; TensorFlow's bilinear kernel gives float32",
    "in Keras float32$",
)
known(
    "value",
    "resize_images/*bilinear*/gradient",
    "TensorFlow's bilinear kernel computes in float32",
    r"error [0-9.]+e-0[78]",
)
known(
    "value",
    "ctc_batch_cost/*/gradient ctc_batch_cost/*/float64 ctc_search/*/float64",
    "TensorFlow computes costs and scores in float32",
    r"error [0-9.]+e-0[78]",
)
known(
    "memory",
    "depthwise_conv2d/no_sample/gradient depthwise_conv2d/no_sample_dilated/gradient"
    " separable_conv1d/no_sample/gradient separable_conv2d/no_sample/gradient",
    "of no samples the gradient is 0; TensorFlow gives what its memory held",
)
known(
    "value",
    "pool2d/avg_window_over_columns/gradient pool2d/avg_window_over_both/gradient",
    "TensorFlow's gradient is not that of its value where a window is wider than the input",
)
