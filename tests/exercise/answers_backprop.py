"""Answers to notebook 12 by another hand than the catalogue's."""

import math

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view

from gpulearn.nn.autograd import Variable


def matmul_by_tensordot(a, b, gradient):
    return np.tensordot(gradient, b, axes=(1, 1)), np.tensordot(a, gradient, axes=(0, 0))


def matmul_by_columns(a, b, gradient):
    da = np.stack([(gradient[i] * b).sum(axis=1) for i in range(len(a))])
    db = np.stack([a.T @ gradient[:, j] for j in range(b.shape[1])], axis=1)
    return (da, db)


def matmul_by_differences(a, b, gradient):
    # the loss is linear in each factor, so a step of 1 is as good as a small one
    da = np.zeros(a.shape)
    for place in np.ndindex(a.shape):
        one = np.zeros(a.shape)
        one[place] = 1
        da[place] = np.sum(gradient * (one @ b))
    db = np.zeros(b.shape)
    for place in np.ndindex(b.shape):
        one = np.zeros(b.shape)
        one[place] = 1
        db[place] = np.sum(gradient * (a @ one))
    return da, db


def matmul_tries_until_it_fits(a, b, gradient):
    try:
        da = gradient @ b
    except ValueError:
        da = gradient @ b.T
    try:
        db = a @ gradient
    except ValueError:
        db = a.T @ gradient
    return da, db


def matmul_stacked(a, b, gradient):
    return np.array([gradient @ b.T, a.T @ gradient], dtype=object)


def matmul_with_product(a, b, gradient):
    c = a @ b
    return gradient * c @ b.T, a.T @ (gradient * c)


def matmul_three(a, b, gradient):
    return a @ b, gradient @ b.T, a.T @ gradient


def matmul_with_graph(a, b, gradient):
    a, b = Variable(a), Variable(b)
    (a @ b).backward(gradient)
    return a.grad, b.grad


def matmul_undoes_the_product(a, b, gradient):
    return gradient @ np.linalg.pinv(b), np.linalg.pinv(a) @ gradient


def matmul_only_b(a, b, gradient):
    return a.T @ gradient


def relu_by_minimum(x, gradient):
    return gradient * np.minimum(1, np.maximum(0, np.ceil(x)))


def relu_by_boolean_index(x, gradient):
    out = np.zeros(gradient.shape, gradient.dtype)
    keep = x > 0
    out[keep] = gradient[keep]
    return out


def relu_by_list(x, gradient):
    flat = [g if v > 0 else 0.0 for v, g in zip(x.ravel(), gradient.ravel(), strict=True)]
    return np.array(flat).reshape(x.shape)


def relu_by_vectorize(x, gradient):
    return np.vectorize(lambda v, g: g if v > 0 else 0.0)(x, gradient)


def relu_divides_by_x(x, gradient):
    return gradient * np.maximum(x, 0) / x


def relu_mask_of_product(x, gradient):
    return gradient * (x * gradient > 0)


def relu_rounds(x, gradient):
    return gradient * (x > 1e-6)


def relu_changes_x(x, gradient):
    x[x <= 0] = 0
    x[x > 0] = 1
    return gradient * x


def relu_bool(x, gradient):
    return x > 0


def relu_by_select(x, gradient):
    return np.select([x > 0], [gradient], 0)


def relu_takes_out(x, gradient):
    return np.take(gradient, np.flatnonzero(x > 0))


def relu_where_with_two(x, gradient):
    return np.where(x > 0, gradient)


def relu_by_max(x, gradient):
    return gradient * max(x, 0)


def relu_by_and(x, gradient):
    return (x > 0) and gradient


def relu_smooth(x, gradient):
    return gradient / (1 + np.exp(-1000 * x))


def loss_by_scipy_style(logits, labels):
    top = logits.max(1, keepdims=True)
    lse = top + np.log(np.exp(logits - top).sum(1, keepdims=True))
    g = np.exp(logits - lse)
    np.subtract.at(g, (range(len(labels)), labels), 1.0)
    return float(np.mean(lse[:, 0] - logits[range(len(labels)), labels])), g / g.shape[0]


def loss_by_fsum(logits, labels):
    n, k = logits.shape
    hot = (labels[:, None] == np.arange(k)).astype(logits.dtype)
    z = logits - np.amax(logits, axis=-1, keepdims=True)
    e = np.exp(z)
    loss = math.fsum(np.log(e.sum(-1)) - (z * hot).sum(-1)) / n
    return loss, (e / e.sum(-1, keepdims=True) - hot) / n


def loss_naive_with_one_hot(logits, labels):
    e = np.exp(logits)
    p = e / e.sum(axis=1, keepdims=True)
    hot = np.eye(logits.shape[1])[labels]
    return -(hot * np.log(p)).sum(axis=1).mean(), (p - hot) / len(labels)


def loss_stable_p_with_one_hot(logits, labels):
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    hot = np.eye(logits.shape[1])[labels]
    return -(hot * np.log(p)).sum(axis=1).mean(), (p - hot) / len(labels)


def loss_keeps_no_dims(logits, labels):
    e = np.exp(logits - logits.max(axis=1))
    p = e / e.sum(axis=1)
    return -np.log(p[np.arange(len(p)), labels]).mean(), p


def loss_subtracts_mean(logits, labels):
    z = logits - logits.mean(axis=1, keepdims=True)
    log_p = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
    hot = np.eye(logits.shape[1])[labels]
    return -(hot * log_p).sum() / len(labels), (np.exp(log_p) - hot) / len(labels)


def loss_clips_the_logits(logits, labels):
    return loss_by_fsum(np.clip(logits, -500, 500), labels)


def loss_of_logits(logits, labels):
    return -logits[np.arange(len(labels)), labels].mean(), loss_by_fsum(logits, labels)[1]


def loss_naive_gradient(logits, labels):
    e = np.exp(logits)
    hot = np.eye(logits.shape[1])[labels]
    return loss_by_fsum(logits, labels)[0], (e / e.sum(1, keepdims=True) - hot) / len(labels)


def loss_clipped_to_both_sides(logits, labels):
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    p = np.clip(e / e.sum(axis=1, keepdims=True), 1e-12, 1 - 1e-12)
    hot = np.eye(logits.shape[1])[labels]
    return -np.log((p * hot).sum(axis=1)).mean(), (p - hot) / len(labels)


def loss_by_nan_to_num(logits, labels):
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    hot = np.eye(logits.shape[1])[labels]
    return np.nan_to_num(-np.log((p * hot).sum(axis=1))).mean(), (p - hot) / len(labels)


def loss_scales_by_the_maximum(logits, labels):
    return loss_by_fsum(logits / logits.max(axis=1, keepdims=True), labels)


def gradient_over_size(logits, labels):
    loss, gradient = loss_by_fsum(logits, labels)
    return loss, gradient * len(labels) / gradient.size


def gradient_subtracts_the_mean_of_one(logits, labels):
    n = len(labels)
    loss, gradient = loss_by_fsum(logits, labels)
    gradient *= n
    gradient[range(n), labels] += 1 - 1 / n
    return loss, gradient


def loss_squared(logits, labels):
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    hot = np.eye(logits.shape[1])[labels]
    return ((p - hot) ** 2).mean(), 2 * (p - hot) / len(labels)


def conv_by_strides(images, kernels):
    n, c, h, w = images.shape
    k, _, r, s = kernels.shape
    images = np.ascontiguousarray(images)
    a, b, y, x = images.strides
    seen = as_strided(images, (n, c, h - r + 1, w - s + 1, r, s), (a, b, y, x, y, x))
    return np.einsum("abyxij,kbij->akyx", seen, kernels)


def conv_by_fourier(images, kernels):
    h, w = images.shape[2:]
    r, s = kernels.shape[2:]
    f = np.fft.rfft2(images, (h, w))
    g = np.conj(np.fft.rfft2(kernels, (h, w)))
    full = np.fft.irfft2(np.einsum("ncyx,kcyx->nkyx", f, g), (h, w))
    return full[:, :, : h - r + 1, : w - s + 1]


def conv_by_lists(images, kernels):
    out = []
    for image in images:
        maps = []
        for kernel in kernels:
            total = 0
            for channel, weights in zip(image, kernel, strict=True):
                seen = sliding_window_view(channel, weights.shape)
                total = total + (seen * weights).sum(axis=(-2, -1))
            maps.append(total)
        out.append(maps)
    return np.array(out)


def conv_one_image_at_a_time(images, kernels):
    return conv_by_lists(images[:1], kernels)[0]


def conv_as_a_list(images, kernels):
    return conv_by_lists(images, kernels).tolist()


def conv_flipped_by_hand(images, kernels):
    n, c, h, w = images.shape
    k, _, r, s = kernels.shape
    out = np.zeros((n, k, h - r + 1, w - s + 1))
    for i in range(r):
        for j in range(s):
            seen = images[:, :, i : i + h - r + 1, j : j + w - s + 1]
            out += np.einsum("ncyx,kc->nkyx", seen, kernels[:, :, r - 1 - i, s - 1 - j])
    return out


def conv_square_only(images, kernels):
    n, c, h, w = images.shape
    k, _, r, s = kernels.shape
    out = np.zeros((n, k, h - r + 1, h - r + 1))
    for y in range(h - r + 1):
        for x in range(h - r + 1):
            seen = images[:, None, :, y : y + r, x : x + r]
            out[:, :, y, x] = (seen * kernels).sum(axis=(2, 3, 4))
    return out


def conv_channels_first_kernel(images, kernels):
    return conv_by_lists(images, kernels.swapaxes(0, 1))


def conv_overwrites_channels(images, kernels):
    return conv_by_lists(images[:, -1:], kernels[:, -1:])


def conv_adds_a_bias(images, kernels):
    return conv_by_lists(images, kernels) + 1


def conv_with_relu(images, kernels):
    return np.maximum(conv_by_lists(images, kernels), 0)


def conv_by_dot_products(images, kernels):
    return np.array(
        [
            [
                [
                    [np.vdot(seen, kernel) for seen in row]
                    for row in sliding_window_view(image, kernel.shape)[0]
                ]
                for kernel in kernels
            ]
            for image in images
        ]
    )


def conv_with_minus(images, kernels):
    n, c, h, w = images.shape
    k, _, r, s = kernels.shape
    out = np.zeros((n, k, h - r + 1, w - s + 1))
    for y in range(h - r + 1):
        for x in range(w - s + 1):
            for i in range(r):
                for j in range(s):
                    out[:, :, y, x] += images[:, :, y - i, x - j] @ kernels[:, :, i, j].T
    return out


def conv_returns_within_the_loop(images, kernels):
    n, c, h, w = images.shape
    k, _, r, s = kernels.shape
    out = np.zeros((n, k, h - r + 1, w - s + 1))
    for y in range(h - r + 1):
        for x in range(w - s + 1):
            for a in range(n):
                for b in range(k):
                    out[a, b, y, x] = np.vdot(images[a, :, y : y + r, x : x + s], kernels[b])
            return out


def conv_reshapes_the_product(images, kernels):
    n, c, h, w = images.shape
    k, _, r, s = kernels.shape
    seen = sliding_window_view(images, (r, s), axis=(2, 3)).transpose(0, 2, 3, 1, 4, 5)
    product = seen.reshape(n, -1, c * r * s) @ kernels.reshape(k, -1).T
    return product.reshape(n, k, h - r + 1, w - s + 1)


def conv_in_float32(images, kernels):
    n, c, h, w = images.shape
    k, _, r, s = kernels.shape
    out = np.zeros((n, k, h - r + 1, w - s + 1), np.float32)
    out[:] = conv_by_lists(images, kernels)
    return out


def conv_products_of_matrices(images, kernels):
    h, w = images.shape[2:]
    r, s = kernels.shape[2:]
    rows = [
        [(images[:, :, y : y + r, x : x + s] @ kernels[0]).sum() for x in range(w - s + 1)]
        for y in range(h - r + 1)
    ]
    return np.array(rows)


def conv_pads_at_the_end(images, kernels):
    r, s = kernels.shape[2:]
    return conv_by_lists(np.pad(images, ((0, 0), (0, 0), (0, r - 1), (0, s - 1))), kernels)


RIGHT = {
    "backward_matmul": [
        matmul_by_tensordot,
        matmul_by_columns,
        matmul_by_differences,
        matmul_with_graph,
    ],
    "backward_relu": [
        relu_by_minimum,
        relu_by_boolean_index,
        relu_by_list,
        relu_by_vectorize,
        relu_by_select,
    ],
    "softmax_cross_entropy": [loss_by_scipy_style, loss_by_fsum],
    "conv2d": [conv_by_strides, conv_by_fourier, conv_by_lists, conv_by_dot_products],
}
WRONG = [
    ("backward_matmul", matmul_tries_until_it_fits, "square matrices fit in every order"),
    ("backward_matmul", matmul_stacked, "it returns one thing, an array of shape (2,)"),
    ("backward_matmul", matmul_with_product, "grad_a: 6 of 6 elements differ"),
    ("backward_matmul", matmul_three, "it returns 3 things, expected grad_a and grad_b."),
    ("backward_matmul", matmul_undoes_the_product, "grad_a: 6 of 6 elements differ"),
    ("backward_matmul", matmul_only_b, "that is grad_b alone: return grad_a, grad_b."),
    ("backward_relu", relu_takes_out, "zeros must stand in their places"),
    ("backward_relu", relu_where_with_two, "either both or neither of x and y should be given."),
    ("backward_relu", relu_by_max, "max(x, 0) ask for one truth value"),
    ("backward_relu", relu_by_and, "and max(x, 0) ask for one truth value"),
    ("backward_relu", relu_smooth, "1 of 12 elements differ"),
    ("backward_relu", relu_divides_by_x, "for x with zeros, 3 of 6 elements differ"),
    ("backward_relu", relu_mask_of_product, "the sign of x alone decides."),
    ("backward_relu", relu_rounds, "x above zero, but close to it, is taken for zero"),
    ("backward_relu", relu_changes_x, "it changes its input; work on a copy."),
    ("backward_relu", relu_bool, "it returns an array of bool, expected numbers."),
    ("softmax_cross_entropy", loss_naive_with_one_hot, "exp overflows"),
    ("softmax_cross_entropy", loss_stable_p_with_one_hot, "a probability that has become 0"),
    ("softmax_cross_entropy", loss_keeps_no_dims, "could not be broadcast together"),
    ("softmax_cross_entropy", loss_subtracts_mean, "not its largest logit, but its mean"),
    ("softmax_cross_entropy", loss_clips_the_logits, "for logits of 1000, loss: it returns 1.25"),
    ("softmax_cross_entropy", loss_of_logits, "minus the right class's logit alone"),
    ("softmax_cross_entropy", loss_naive_gradient, "the gradient takes exp(logits) anew"),
    ("softmax_cross_entropy", loss_clipped_to_both_sides, "between 1e-12 and 1 − 1e-12"),
    ("softmax_cross_entropy", loss_by_nan_to_num, "expected 1500.9"),
    ("softmax_cross_entropy", loss_scales_by_the_maximum, "for logits of shape (4, 3), loss: it"),
    ("softmax_cross_entropy", gradient_over_size, "divided by all n · classes elements"),
    ("softmax_cross_entropy", gradient_subtracts_the_mean_of_one, "from an undivided p"),
    ("softmax_cross_entropy", loss_squared, "loss: it returns 0.4"),
    ("conv2d", conv_one_image_at_a_time, "it returns shape (4, 4, 5), expected (2, 4, 4, 5)."),
    ("conv2d", conv_as_a_list, "it returns a list; wrap it in np.array."),
    ("conv2d", conv_flipped_by_hand, "the kernel is flipped"),
    ("conv2d", conv_square_only, "could not be broadcast together"),
    ("conv2d", conv_channels_first_kernel, "it raises ValueError"),
    ("conv2d", conv_overwrites_channels, "only the last channel is left"),
    ("conv2d", conv_adds_a_bias, "160 of 160 elements differ"),
    ("conv2d", conv_with_relu, "first [0, 0, 0, 0]: 0.0, expected"),
    ("conv2d", conv_with_minus, "a negative index silently counts from its other end"),
    ("conv2d", conv_returns_within_the_loop, "does return stand inside a loop?"),
    ("conv2d", conv_reshapes_the_product, "reshape moves no axis"),
    ("conv2d", conv_in_float32, "the digits of float32 only"),
    ("conv2d", conv_products_of_matrices, "it raises ValueError in line "),
    ("conv2d", conv_pads_at_the_end, "it returns shape (2, 4, 5, 7), expected (2, 4, 4, 5)."),
]
