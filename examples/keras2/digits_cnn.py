"""A convolutional network for handwritten digits that are moved about, with callbacks."""

import argparse
import os
import tempfile

import numpy as np

np.random.seed(1337)

import digits
from keras import backend as K
from keras.callbacks import EarlyStopping, ModelCheckpoint, ReduceLROnPlateau
from keras.layers import (
    Activation,
    BatchNormalization,
    Conv2D,
    Dense,
    Dropout,
    Flatten,
    MaxPooling2D,
)
from keras.models import Sequential, load_model
from keras.preprocessing.image import ImageDataGenerator
from keras.regularizers import l2
from keras.utils import to_categorical

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=15)
args = parser.parse_args()

(x_train, y_train), (x_test, y_test) = digits.load_data()
if K.image_data_format() == "channels_first":
    shape = (1, 8, 8)
else:
    shape = (8, 8, 1)
x_train = x_train.reshape((-1,) + shape).astype("float32") / 16
x_test = x_test.reshape((-1,) + shape).astype("float32") / 16
y_train, y_test = to_categorical(y_train, 10), to_categorical(y_test, 10)

model = Sequential()
model.add(Conv2D(16, (3, 3), padding="same", kernel_regularizer=l2(1e-4), input_shape=shape))
model.add(BatchNormalization())
model.add(Activation("relu"))
model.add(Conv2D(32, (3, 3), activation="relu"))
model.add(MaxPooling2D(pool_size=(2, 2)))
model.add(Dropout(0.25))
model.add(Flatten())
model.add(Dense(64, activation="relu"))
model.add(Dropout(0.5))
model.add(Dense(10, activation="softmax"))
model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])

path = os.path.join(tempfile.mkdtemp(), "best.h5")
images = ImageDataGenerator(width_shift_range=0.1, height_shift_range=0.1)
history = model.fit_generator(
    images.flow(x_train, y_train, batch_size=64),
    steps_per_epoch=len(x_train) // 64,
    epochs=args.epochs,
    verbose=2,
    validation_data=(x_test, y_test),
    callbacks=[
        ModelCheckpoint(path, save_best_only=True),
        ReduceLROnPlateau(patience=3, factor=0.3),
        EarlyStopping(patience=6),
    ],
)
best = load_model(path)
score = best.evaluate(x_test, y_test, verbose=0)
assert np.isclose(score[0], min(history.history["val_loss"]), atol=1e-4)
print("Test loss: {:.3f}".format(score[0]))
print("Test accuracy: {:.3f}".format(score[1]))
