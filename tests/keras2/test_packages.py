"""Packages written for Keras 2, as they are on PyPI."""

from __future__ import annotations

import os
import warnings

import numpy as np
import pytest

os.environ.update(TF_KERAS="0", SM_FRAMEWORK="keras")  # read by the packages when imported
from keras import backend as K
from keras import layers as L
from keras.models import Sequential
from keras.optimizers import Adam

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # their own syntax, as Python sees it today
    import keras_bert
    import segmentation_models
    from keras_self_attention import SeqSelfAttention, SeqWeightedAttention


@pytest.mark.parametrize("kind", ["additive", "multiplicative"])
def test_self_attention(kind):
    """Behind an LSTM over masked words: training finds the class of the first word."""
    model = Sequential(
        [
            L.Embedding(20, 8, mask_zero=True, input_length=6),
            L.Bidirectional(L.LSTM(4, return_sequences=True)),
            SeqSelfAttention(
                attention_type=kind, attention_width=5, attention_regularizer_weight=1e-4
            ),
            SeqWeightedAttention(),
            L.Dense(2, activation="softmax"),
        ]
    )
    model.compile(Adam(0.02), "sparse_categorical_crossentropy", metrics=["accuracy"])
    words = np.random.RandomState(0).randint(1, 20, (64, 6))
    words[::3, 4:] = 0
    labels = (words[:, 0] > 10).astype(int)
    losses = model.fit(words, labels, epochs=12, batch_size=16, verbose=0).history["loss"]
    assert losses[-1] < 0.6 * losses[0]
    assert model.predict(words).shape == (64, 2)


def test_bert():
    """A small one, trained on masked words and the next sentence, then read layer by layer."""
    model = keras_bert.get_model(
        token_num=30,
        head_num=2,
        transformer_num=2,
        embed_dim=8,
        feed_forward_dim=16,
        seq_len=10,
        pos_num=10,
        dropout_rate=0.0,
    )
    keras_bert.compile_model(model, learning_rate=1e-2, decay_steps=100, warmup_steps=1)
    rng = np.random.RandomState(1)
    words = rng.randint(5, 30, (8, 10))
    inputs = [words, np.zeros((8, 10)), rng.randint(0, 2, (8, 10))]
    targets = [words[..., None], rng.randint(0, 2, (8, 1))]
    losses = [model.train_on_batch(inputs, targets)[0] for _ in range(25)]
    assert losses[-1] < 0.7 * losses[0]
    inner = K.function(model.inputs, [model.get_layer("Encoder-2-FeedForward-Norm").output])
    (found,) = inner(inputs)
    assert found.shape == (8, 10, 8)
    assert np.isfinite(found).all()


def test_segmentation_losses_and_metrics():
    """Against the formulas in their documentation, and as the loss of a model."""
    rng = np.random.RandomState(2)
    truth = rng.randint(0, 2, (2, 4, 4, 1)).astype("float32")
    guess = rng.uniform(0.05, 0.95, (2, 4, 4, 1)).astype("float32")
    both, total, smooth = (truth * guess).sum(), truth.sum() + guess.sum(), 1e-5
    wanted = {
        "iou_score": (both + smooth) / (total - both + smooth),
        "f1_score": (2 * both + smooth) / (total + smooth),
        "jaccard_loss": 1 - (both + smooth) / (total - both + smooth),
        "dice_loss": 1 - (2 * both + smooth) / (total + smooth),
    }
    for name, value in wanted.items():
        module = segmentation_models.losses if "loss" in name else segmentation_models.metrics
        found = K.eval(K.mean(getattr(module, name)(K.constant(truth), K.constant(guess))))
        np.testing.assert_allclose(found, value, rtol=1e-4, err_msg=name)
    model = Sequential(
        [L.Conv2D(1, 3, padding="same", activation="sigmoid", input_shape=(4, 4, 1))]
    )
    loss = segmentation_models.losses.bce_jaccard_loss
    model.compile("adam", loss, metrics=[segmentation_models.metrics.iou_score])
    losses = model.fit(truth, truth, epochs=10, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
