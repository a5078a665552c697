"""Which pixels speak for a digit: gradients of a trained model with respect to its input."""

import argparse

import numpy as np

np.random.seed(1337)

import digits
from keras import backend as K
from keras.layers import Conv2D, Dense, Flatten
from keras.models import Sequential

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=10)
args = parser.parse_args()

(x_train, y_train), (x_test, y_test) = digits.load_data()
x_train = x_train[..., None].astype("float32") / 16
x_test = x_test[..., None].astype("float32") / 16

model = Sequential()
model.add(Conv2D(16, (3, 3), activation="relu", input_shape=(8, 8, 1)))
model.add(Flatten())
model.add(Dense(10, name="scores"))
model.compile("adam", lambda y, scores: K.sparse_categorical_crossentropy(y, scores, True))
model.fit(x_train, y_train, epochs=args.epochs, batch_size=64, verbose=2)

scores = model.get_layer("scores").output
label = K.placeholder((), dtype="int32")
score = K.sum(scores * K.one_hot(label, 10))
gradient = K.gradients(score, model.input)[0]
gradient /= K.sqrt(K.mean(K.square(gradient))) + K.epsilon()
saliency = K.function([model.input, label], [score, gradient])

right = model.predict(x_test).argmax(-1) == y_test
print("Test accuracy: {:.3f}".format(right.mean()))

# An image that the model takes for a 3: walk up the gradient from a grey one.
image = np.full((1, 8, 8, 1), 0.5, "float32")
begin = saliency([image, 3])[0]
for _ in range(40):
    value, slope = saliency([image, 3])
    image = np.clip(image + 0.05 * slope, 0, 1)
print("Score of 3: from {:.1f} to {:.1f}".format(begin, value))
print("\n".join("".join(" .:*#"[int(4.99 * pixel)] for pixel in row) for row in image[0, ..., 0]))
