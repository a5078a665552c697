"""One LSTM reads "37+8", another one writes "45": sequences to sequences."""

import argparse

import numpy as np
from keras.layers import LSTM, Dense, RepeatVector, TimeDistributed
from keras.models import Sequential
from keras.optimizers import Adam

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=40)
args = parser.parse_args()
np.random.seed(1337)

CHARACTERS = "0123456789+ "
LONGEST, ANSWER = len("99+9"), len("108")


def encode(text, length):
    code = np.zeros((length, len(CHARACTERS)))
    for i, character in enumerate(text.ljust(length)):
        code[i, CHARACTERS.index(character)] = 1
    return code


def decode(code):
    return "".join(CHARACTERS[i] for i in code.argmax(axis=-1)).strip()


pairs = [(a, b) for a in range(100) for b in range(10)]
np.random.shuffle(pairs)
questions = ["{}+{}".format(a, b) for a, b in pairs]
x = np.array([encode(question, LONGEST) for question in questions])
y = np.array([encode(str(a + b), ANSWER) for a, b in pairs])

model = Sequential()
model.add(LSTM(64, input_shape=(None, len(CHARACTERS))))
model.add(RepeatVector(ANSWER))
model.add(LSTM(64, return_sequences=True))
model.add(TimeDistributed(Dense(len(CHARACTERS), activation="softmax")))
model.compile(loss="categorical_crossentropy", optimizer=Adam(0.01), metrics=["accuracy"])
history = model.fit(x[:900], y[:900], epochs=args.epochs, batch_size=50, verbose=2)

for question, code in zip(questions[900:905], model.predict(x[900:905])):
    print(question, "=", decode(code))
loss, accuracy = model.evaluate(x[900:], y[900:], batch_size=50, verbose=0)
print("Accuracy of characters: {:.3f}".format(accuracy))
