"""A variational autoencoder: images become two numbers, and numbers become images."""

import argparse

import numpy as np

np.random.seed(1337)

import digits
from keras import backend as K
from keras.layers import Dense, Input, Lambda
from keras.losses import binary_crossentropy
from keras.models import Model

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=60)
args = parser.parse_args()

(x_train, _), (x_test, _) = digits.load_data()
x_train = x_train.reshape(-1, 64).astype("float32") / 16
x_test = x_test.reshape(-1, 64).astype("float32") / 16
latent = 2


def sampling(args):
    z_mean, z_log_var = args
    epsilon = K.random_normal(shape=(K.shape(z_mean)[0], K.int_shape(z_mean)[1]))
    return z_mean + K.exp(0.5 * z_log_var) * epsilon


inputs = Input(shape=(64,), name="image")
hidden = Dense(64, activation="relu")(inputs)
z_mean = Dense(latent, name="z_mean")(hidden)
z_log_var = Dense(latent, name="z_log_var")(hidden)
z = Lambda(sampling, name="z")([z_mean, z_log_var])
encoder = Model(inputs, [z_mean, z_log_var, z], name="encoder")

latent_inputs = Input(shape=(latent,), name="z_sampling")
hidden = Dense(64, activation="relu")(latent_inputs)
decoder = Model(latent_inputs, Dense(64, activation="sigmoid")(hidden), name="decoder")

outputs = decoder(encoder(inputs)[2])
vae = Model(inputs, outputs, name="vae")
reconstruction = 64 * binary_crossentropy(inputs, outputs)
divergence = -0.5 * K.sum(1 + z_log_var - K.square(z_mean) - K.exp(z_log_var), axis=-1)
vae.add_loss(K.mean(reconstruction + divergence))
vae.compile(optimizer="adam")
history = vae.fit(
    x_train, epochs=args.epochs, batch_size=64, verbose=2, validation_data=(x_test, None)
)

print("Loss: {:.2f}".format(history.history["val_loss"][-1]))
for image in decoder.predict(np.array([[-1.0, 0.0], [1.0, 0.5]])).reshape(-1, 8, 8):
    print("\n".join("".join(" .:*#"[int(4.99 * pixel)] for pixel in row) for row in image))
    print()
