"""A network of dense layers for handwritten digits."""

import argparse

import numpy as np

np.random.seed(1337)

import digits
from keras.layers import Activation, Dense, Dropout
from keras.models import Sequential
from keras.optimizers import RMSprop
from keras.utils import np_utils

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=20)
args = parser.parse_args()

(X_train, y_train), (X_test, y_test) = digits.load_data()
X_train = X_train.reshape(-1, 64).astype("float32") / 16
X_test = X_test.reshape(-1, 64).astype("float32") / 16
Y_train = np_utils.to_categorical(y_train, 10)
Y_test = np_utils.to_categorical(y_test, 10)

model = Sequential()
model.add(Dense(64, input_shape=(64,)))
model.add(Activation("relu"))
model.add(Dropout(0.2))
model.add(Dense(64, kernel_initializer="he_normal", activation="relu"))
model.add(Dropout(0.2))
model.add(Dense(10))
model.add(Activation("softmax"))
model.summary()
model.compile(loss="categorical_crossentropy", optimizer=RMSprop(lr=0.002), metrics=["accuracy"])

# Eights and ones are easily taken for each other.
weights = {i: 1.5 if i in (1, 8) else 1.0 for i in range(10)}
model.fit(
    X_train,
    Y_train,
    batch_size=64,
    epochs=args.epochs,
    verbose=2,
    validation_data=(X_test, Y_test),
    class_weight=weights,
)
score = model.evaluate(X_test, Y_test, verbose=0)
print("Test loss: {:.3f}".format(score[0]))
print("Test accuracy: {:.3f}".format(score[1]))
