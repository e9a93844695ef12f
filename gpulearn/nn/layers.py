"""Layers of a network and their gradients: each function and its gradient side by side.

`gradient` is always the loss's gradient with respect to the layer's output. A backward function
turns it into the loss's gradient with respect to each input, by the chain rule.
"""

from typing import Any

import numpy as np

from gpulearn import require
from gpulearn.errors import BadInput

Array = np.ndarray[Any, Any]
Matrix = np.ndarray[tuple[int, int], Any]


@require.shapes(a="m n", b="n p", gradient="m p")
def backward_matmul(a: Matrix, b: Matrix, gradient: Matrix) -> tuple[Matrix, Matrix]:
    """The gradients of C = A·B: from G = ∂L/∂C to ∂L/∂A = G·Bᵀ and ∂L/∂B = Aᵀ·G.

    A is (m, n), B (n, p), and the gradient G that of the product, (m, p). Source: M. Giles,
    Collected matrix derivative results for forward and reverse mode algorithmic differentiation,
    2008, section 2.2.2.

    >>> grad_a, grad_b = backward_matmul(np.array([[1, 2]]), np.array([[3], [4]]), np.array([[10]]))
    >>> grad_a.tolist(), grad_b.tolist()
    ([[30, 40]], [[10], [20]])
    """
    grad_a = gradient @ b.T
    grad_b = a.T @ gradient
    return grad_a, grad_b


def relu(x: Array) -> Array:
    """The rectified linear unit: max(x, 0), element by element.

    Source: V. Nair and G. Hinton, Rectified linear units improve restricted Boltzmann machines,
    ICML 2010.
    """
    return np.maximum(x, np.zeros((), np.asarray(x).dtype))


@require.same_shape("x", "gradient")
def backward_relu(x: Array, gradient: Array) -> Array:
    """The gradient of max(x, 0): where the input was above zero it passes, elsewhere it is 0.

    At exactly zero there is no derivative; as in PyTorch, 0 is taken. x is the input of the layer,
    not its output, of any shape; the gradient has the same.

    >>> backward_relu(np.array([-1.0, 0.0, 2.0]), np.array([10.0, 20.0, 30.0]))
    array([ 0.,  0., 30.])
    """
    return gradient * (x > 0)  # many times faster than np.where, which branches


@require.shapes(x="n d", v="d m", b="m", w="m d", gradient="n d")
def backward_residual(
    x: Matrix, v: Matrix, b: Array, w: Matrix, gradient: Matrix
) -> tuple[Matrix, Matrix, Array, Matrix]:
    """The gradients of a residual block, x + relu(x·V + b)·W, with respect to x, v, b and w.

    x is used twice, by the way round and by the first layer, and adds up what both send back. A
    bias is used once for each example, and adds up over them. Source: the chain rule; of the block,
    K. He, X. Zhang, S. Ren and J. Sun, Deep residual learning for image recognition, CVPR 2016,
    equation 1.

    x has a row for each example, (n, d), as the gradient, that of the block's output; v is (d, m),
    b (m,), w (m, d).

    >>> one, ten = np.array([[1.0]]), np.array([[10.0]])
    >>> [float(g.item()) for g in backward_residual(one, 2 * one, np.zeros(1), ten, one)]
    [21.0, 10.0, 10.0, 2.0]
    """
    z = x @ v + b
    hidden = np.maximum(z, 0)
    grad_w = hidden.T @ gradient
    grad_z = (gradient @ w.T) * (z > 0)
    grad_v = x.T @ grad_z
    grad_b = grad_z.sum(axis=0)
    grad_x = gradient + grad_z @ v.T
    return grad_x, grad_v, grad_b, grad_w


def _labeled(args: dict[str, Any]) -> None:
    """Labels are whole numbers, each the number of a class, and there is at least one."""
    labels, (n, classes) = args["labels"], args["logits"].shape
    if labels.dtype.kind not in "iu":
        raise BadInput(f"labels has dtype {labels.dtype}: give each row's class as a whole number.")
    if n == 0:
        raise BadInput(f"logits has shape {(n, classes)}: there is no mean loss of an empty batch.")
    outside = np.flatnonzero((labels < 0) | (labels >= classes))
    if outside.size:
        first = int(outside[0])
        raise BadInput(
            f"labels[{first}] is {labels[first]}: with {classes} columns in logits, labels run "
            f"from 0 to {classes - 1}."
        )


@require.shapes(logits="n classes", labels="n")
@require.together(_labeled)
def softmax_cross_entropy(logits: Matrix, labels: Array) -> tuple[Any, Matrix]:
    """The mean cross-entropy of a batch under softmax, and its gradient.

    With p = softmax(logits), row by row, and y the row's label: loss = −(1/n) Σ log p[y], and
    gradient = (p − one_hot(y)) / n. A row's largest logit is subtracted first, which leaves p
    as it is and lets no exponential overflow. Source: C. Bishop, Pattern Recognition and Machine
    Learning, 2006, equations 4.104, 4.108 and 4.109.

    Logits are (n, classes), labels whole numbers from 0, (n,). Returned are the loss, one number,
    and its gradient with respect to the logits, (n, classes).

    >>> loss, gradient = softmax_cross_entropy(np.zeros((1, 2)), np.array([0]))
    >>> round(float(loss), 4), gradient.tolist()
    (0.6931, [[-0.5, 0.5]])
    """
    n = len(logits)
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    right = np.arange(n), labels
    loss = -log_p[right].mean()
    gradient = np.exp(log_p)
    gradient[right] -= 1
    return loss, gradient / n


def _fits(args: dict[str, Any]) -> None:
    """A kernel lies within the image, and a gradient has the size of the output."""
    images, kernels = args["images"].shape, args["kernels"].shape
    if kernels[2] > images[2] or kernels[3] > images[3] or 0 in kernels[2:]:
        raise BadInput(
            f"kernels has shape {kernels}: {kernels[2]} × {kernels[3]} does not fit into images "
            f"of {images[2]} × {images[3]}."
        )
    expected = (images[0], kernels[0], images[2] - kernels[2] + 1, images[3] - kernels[3] + 1)
    if "gradient" in args and args["gradient"].shape != expected:
        raise BadInput(f"gradient has shape {args['gradient'].shape}: the output's is {expected}.")


@require.shapes(images="n c h w", kernels="k c r s")
@require.together(_fits)
def conv2d(images: Array, kernels: Array) -> Array:
    """Slide k kernels over n images, without padding, as a convolutional layer does.

    out[n, k, y, x] = Σ_c Σ_i Σ_j images[n, c, y + i, x + j] · kernels[k, c, i, j]

    The kernel is not flipped: this is what mathematics calls cross-correlation and what deep
    learning, PyTorch included, calls convolution (I. Goodfellow, Y. Bengio and A. Courville,
    Deep Learning, 2016, equation 9.6). Kernels are no larger than an image; the result is
    (n, k, h − r + 1, w − s + 1).

    >>> conv2d(np.array([[[[1, 2, 3]]]]), np.array([[[[10, 1]]]]))
    array([[[[12, 23]]]])
    """
    n, c, h, w = images.shape
    k, _, r, s = kernels.shape
    rows, columns = h - r + 1, w - s + 1
    out = np.zeros((n, k, rows * columns), np.result_type(images, kernels))
    for i in range(r):
        for j in range(s):
            patch = images[:, :, i : i + rows, j : j + columns]
            out += kernels[:, :, i, j] @ patch.reshape(n, c, rows * columns)
    return out.reshape(n, k, rows, columns)


@require.shapes(images="n c h w", kernels="k c r s", gradient="n k y x")
@require.together(_fits)
def backward_conv2d(images: Array, kernels: Array, gradient: Array) -> tuple[Array, Array]:
    """The gradients of `conv2d`: with respect to its images and with respect to its kernels.

    ∂L/∂images[n, c, y + i, x + j] collects gradient[n, k, y, x] · kernels[k, c, i, j], and
    ∂L/∂kernels[k, c, i, j] collects gradient[n, k, y, x] · images[n, c, y + i, x + j]: the
    chain rule on the sum that `conv2d` is. The gradient has the shape of the output.

    >>> image, kernel = np.array([[[[1, 2, 3]]]]), np.array([[[[10, 1]]]])
    >>> of_image, of_kernel = backward_conv2d(image, kernel, np.array([[[[1, 100]]]]))
    >>> of_image.ravel().tolist(), of_kernel.ravel().tolist()
    ([10, 1001, 100], [201, 302])
    """
    _, _, rows, columns = gradient.shape
    of_images = np.zeros(images.shape, np.result_type(kernels, gradient))
    of_kernels = np.zeros(kernels.shape, np.result_type(images, gradient))
    for i in range(kernels.shape[2]):
        for j in range(kernels.shape[3]):
            seen = images[:, :, i : i + rows, j : j + columns]
            of_kernels[:, :, i, j] = np.tensordot(gradient, seen, axes=((0, 2, 3), (0, 2, 3)))
            sent = np.tensordot(kernels[:, :, i, j], gradient, axes=(0, 1))  # (c, n, y, x)
            of_images[:, :, i : i + rows, j : j + columns] += sent.swapaxes(0, 1)
    return of_images, of_kernels
