"""A few of the digits, on which a training takes no time."""

import gpulearn as gl


def few_digits(count):
    """What `gl.fit` takes: so many images to train on, 20 held out, and the labels of both."""
    images, labels, *held_out = gl.digits()
    return images[:count], labels[:count], *(part[:20] for part in held_out)
