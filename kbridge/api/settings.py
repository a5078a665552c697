"""The settings shared with Keras: floatx, epsilon and the image data format."""

from __future__ import annotations

from kbridge import config
from kbridge.api.declare import setting

epsilon = setting(config.epsilon)
set_epsilon = setting(config.set_epsilon)
floatx = setting(config.floatx)
set_floatx = setting(config.set_floatx)
cast_to_floatx = setting(config.cast_to_floatx)
image_data_format = setting(config.image_data_format)
set_image_data_format = setting(config.set_image_data_format)
normalize_data_format = setting(config.normalize_data_format)
image_dim_ordering = setting(config.image_dim_ordering)
set_image_dim_ordering = setting(config.set_image_dim_ordering)
