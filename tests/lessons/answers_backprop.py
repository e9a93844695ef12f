"""Answers to notebook 12 by another hand than the catalogue's."""

import graphlib
import math

import numpy as np
import torch

from gpulearn.nn import autograd, layers
from gpulearn.nn.autograd import Variable


def matmul_by_tensordot(a, b, gradient):
    return np.tensordot(gradient, b, axes=(1, 1)), np.tensordot(a, gradient, axes=(0, 0))


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


def relu_divides_by_x(x, gradient):
    return gradient * np.maximum(x, 0) / x


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


def loss_clips_the_logits(logits, labels):
    return loss_by_fsum(np.clip(logits, -500, 500), labels)


def loss_by_nan_to_num(logits, labels):
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    hot = np.eye(logits.shape[1])[labels]
    return np.nan_to_num(-np.log((p * hot).sum(axis=1))).mean(), (p - hot) / len(labels)


def loss_scales_by_the_maximum(logits, labels):
    return loss_by_fsum(logits / logits.max(axis=1, keepdims=True), labels)


def loss_squared(logits, labels):
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    hot = np.eye(logits.shape[1])[labels]
    return ((p - hot) ** 2).mean(), 2 * (p - hot) / len(labels)


def walk_with_lists(nodes, gradient):
    got, found = {node: [] for node in nodes}, {}
    got[nodes[0]].append(gradient)
    for node in nodes:
        found[node] = sum(got[node])
        for parent, share in node.shares(found[node]):
            got[parent].append(share)
    return found


def walk_that_asks_its_users(nodes, gradient):
    found = {nodes[0]: gradient}
    for k, node in enumerate(nodes[1:], 1):
        shares = [pair for user in nodes[:k] for pair in user.shares(found[user])]
        found[node] = sum(share for parent, share in shares if parent is node)
    return found


def walk_that_empties_the_list(nodes, gradient):
    arrived = {nodes[0]: gradient}
    while nodes:
        node = nodes.pop(0)
        for parent, share in node.shares(arrived[node]):
            arrived[parent] = arrived.get(parent, 0) + share
    return arrived


def walk_into_grad(nodes, gradient):
    for node in nodes:
        node.grad = 0.0
    nodes[0].grad = gradient
    for node in nodes:
        for parent, share in node.shares(node.grad):
            parent.grad = parent.grad + share
    return {node: node.grad for node in nodes}


def walk_by_the_method(nodes, gradient):
    nodes[0].backward(gradient)
    return {node: node.grad for node in nodes}


def walk_by_the_library(nodes, gradient):
    return autograd.backward(nodes, gradient)


def walk_that_leaves_grad(nodes, gradient):
    nodes[0].grad = gradient
    for node in nodes:
        for parent, share in node.shares(node.grad):
            parent.grad = share if parent.grad is None else parent.grad + share


def walk_by_names(nodes, gradient):
    found = {nodes[0].name: gradient}
    for node in nodes:
        for parent, share in node.shares(found[node.name]):
            found[parent.name] = found.get(parent.name, 0) + share
    return found


def walk_to_each_parent_once(nodes, gradient):
    found, sent = {nodes[0]: gradient}, set()
    for node in nodes:
        for parent, share in node.shares(found[node]):
            if (node, parent) not in sent:
                sent.add((node, parent))
                found[parent] = found.get(parent, 0) + share
    return found


def walk_into_what_was_given(nodes, gradient):
    found = {nodes[0]: gradient}
    for node in nodes:
        for parent, share in node.shares(found[node]):
            if parent in found:
                found[parent] += share
            else:
                found[parent] = share
    return found


def walk_as_a_list(nodes, gradient):
    return list(walk_with_lists(nodes, gradient).values())


def order_by_graphlib(result):
    graph, waiting = {}, [result]
    while waiting:
        node = waiting.pop()
        if node not in graph:
            graph[node] = node.parents
            waiting += node.parents
    return list(graphlib.TopologicalSorter(graph).static_order())


def order_that_moves_to_the_end(result):
    order, waiting = [], [result]
    while waiting:
        node = waiting.pop(0)
        if node in order:
            order.remove(node)
        order.append(node)
        waiting += node.parents
    return tuple(order[::-1])


def order_by_the_method(result):
    return result.order(every=True)


def order_by_the_library(result):
    return autograd.topological_order(result)


def order_of_trees(result):
    order = []

    def go(node):
        order.append(node)
        for parent in node.parents:
            go(parent)

    go(result)
    return list(dict.fromkeys(order))[::-1]


def order_by_number_of_parents(result):
    return sorted(order_by_graphlib(result), key=lambda node: len(node.parents))


def depth_asked_anew(node):
    return 1 + max(map(depth_asked_anew, node.parents), default=0)


def order_by_depth(result):
    return sorted(order_by_graphlib(result), key=depth_asked_anew)


def order_by_depth_the_other_way(result):  # of one depth the last comes first
    order = order_by_graphlib(result)[::-1]
    return sorted(order, key=depth_asked_anew)


def order_as_a_set(result):
    return set(order_by_graphlib(result))


def order_nested(result):
    return [*map(order_nested, result.parents), result]


def order_of_names(result):
    return [node.name for node in order_by_graphlib(result)]


def residual_by_torch(x, v, b, w, gradient):
    x, v, b, w = given = [torch.tensor(one, requires_grad=True) for one in (x, v, b, w)]
    (x + torch.relu(x @ v + b) @ w).backward(torch.tensor(gradient))
    return tuple(one.grad.numpy() for one in given)


def residual_of_parts(x, v, b, w, gradient):
    z = x @ v + b
    to_hidden, to_w = gradient @ w.T, np.maximum(z, 0).T @ gradient
    to_z = np.where(z > 0, to_hidden, 0)
    return to_z @ v.T + gradient, x.T @ to_z, sum(to_z), to_w


def residual_by_the_library(x, v, b, w, gradient):
    return layers.backward_residual(x, v, b, w, gradient)


def residual_with_way_round_twice(x, v, b, w, gradient):
    to_x, *others = residual_of_parts(x, v, b, w, gradient)
    return to_x + gradient, *others


def residual_wrong_when_square(x, v, b, w, gradient):
    back = w if w.shape[0] == w.shape[1] else w.T
    return residual_of_parts(x, v, b, back.T, gradient)


def residual_without_bias(x, v, b, w, gradient):
    return residual_of_parts(x, v, 0 * b, w, gradient)


def residual_into_what_was_given(x, v, b, w, gradient):
    found = residual_of_parts(x, v, b, w, gradient.copy())
    gradient += found[0] - gradient
    return gradient, *found[1:]


def residual_without_relu_forward(x, v, b, w, gradient):
    to_x, to_v, to_b, _ = residual_of_parts(x, v, b, w, gradient)
    return to_x, to_v, to_b, (x @ v + b).T @ gradient


def conv_by_loops(images, kernels, gradient, back=1):
    to_images, to_kernels = np.zeros(images.shape), np.zeros(kernels.shape)
    for n, k, y, x in np.ndindex(gradient.shape):
        for c, i, j in np.ndindex(kernels.shape[1:]):
            g, at = gradient[n, k, y, x], (n, c, y + back * i, x + back * j)
            to_images[at] += g * kernels[k, c, i, j]
            to_kernels[k, c, i, j] += g * images[at]
    return to_images, to_kernels


def conv_by_torch(images, kernels, gradient):
    given = [
        torch.tensor(one, dtype=torch.float64, requires_grad=True) for one in (images, kernels)
    ]
    torch.conv2d(*given).backward(torch.tensor(gradient, dtype=torch.float64))
    return tuple(one.grad.numpy() for one in given)


def conv_by_the_library(images, kernels, gradient):
    return layers.backward_conv2d(images, kernels, gradient)


def conv_with_minus(images, kernels, gradient):
    return conv_by_loops(images, kernels, gradient, -1)


def conv_flipped_twice(images, kernels, gradient):
    to_images, to_kernels = conv_by_loops(images, kernels[:, :, ::-1, ::-1], gradient)
    return to_images, to_kernels[:, :, ::-1, ::-1]


def conv_of_positive_gradients(images, kernels, gradient):
    return conv_by_loops(images, kernels, np.maximum(gradient, 0))


def conv_of_the_last_image(images, kernels, gradient):
    return conv_by_loops(images, kernels, gradient)[0], conv_by_loops(
        images[-1:], kernels, gradient[-1:]
    )[1]


def conv_with_swapped_kernel(images, kernels, gradient):
    to_images, to_kernels = conv_by_loops(images, kernels, gradient)
    return to_images, to_kernels.swapaxes(2, 3)


def conv_in_dtype_of_the_images(images, kernels, gradient):
    to_images, to_kernels = conv_by_loops(images, kernels, gradient)
    return to_images.astype(images.dtype), to_kernels


RIGHT = {
    "backward": [walk_with_lists],
    "topological_order": [order_by_graphlib],
    "backward_matmul": [matmul_by_tensordot, matmul_with_graph],
    "backward_relu": [relu_by_minimum, relu_by_boolean_index, relu_by_list, relu_by_select],
    "softmax_cross_entropy": [loss_by_scipy_style, loss_by_fsum],
    "backward_residual": [residual_by_torch, residual_of_parts],
    "backward_conv2d": [conv_by_loops, conv_by_torch],
}
WRONG = [
    ("backward_matmul", matmul_stacked, "it returns one thing, an array of shape (2,)"),
    ("backward_matmul", matmul_with_product, "grad_a: 6 of 6 elements differ"),
    ("backward_matmul", matmul_three, "it returns 3 things, expected grad_a and grad_b."),
    ("backward_matmul", matmul_undoes_the_product, "grad_a: 6 of 6 elements differ"),
    ("backward_relu", relu_where_with_two, "either both or neither of x and y should be given."),
    ("backward_relu", relu_by_max, "max(x, 0) ask for one truth value"),
    ("backward_relu", relu_by_and, "and max(x, 0) ask for one truth value"),
    ("backward_relu", relu_smooth, "1 of 12 elements differ"),
    ("backward_relu", relu_divides_by_x, "for x with zeros, 3 of 6 elements differ"),
    ("backward_relu", relu_rounds, "x above zero, but close to it, is taken for zero"),
    ("backward_relu", relu_changes_x, "it changes its input; work on a copy."),
    ("backward_relu", relu_bool, "it returns an array of bool, expected numbers."),
    ("softmax_cross_entropy", loss_naive_with_one_hot, "exp overflows"),
    ("softmax_cross_entropy", loss_stable_p_with_one_hot, "a probability that has become 0"),
    ("softmax_cross_entropy", loss_keeps_no_dims, "could not be broadcast together"),
    ("softmax_cross_entropy", loss_clips_the_logits, "for logits of 1000, loss: it returns 1.25"),
    ("softmax_cross_entropy", loss_by_nan_to_num, "expected 15000.9"),
    ("softmax_cross_entropy", loss_scales_by_the_maximum, "for logits of shape (4, 3), loss: it"),
    ("softmax_cross_entropy", loss_squared, "loss: it returns 0.4"),
    ("backward", walk_that_asks_its_users, "is asked for its shares more than once."),
    ("backward", walk_that_empties_the_list, "it changes the list of nodes that it was given"),
    ("backward", walk_into_grad, "it writes into .grad of the nodes"),
    ("backward", walk_by_the_method, "it calls .backward(), which does just that"),
    ("backward", walk_by_the_library, "it calls the library's backward: write it yourself."),
    ("backward", walk_that_leaves_grad, "it returns nothing (None)"),
    ("backward", walk_by_names, "the result of + has no gradient."),
    ("backward", walk_to_each_parent_once, "the gradient of the result of + is 7, expected 14."),
    ("backward", walk_into_what_was_given, "it changes the gradient that it was given."),
    ("backward", walk_as_a_list, "expected a dictionary of nodes and gradients."),
    ("topological_order", order_that_moves_to_the_end, "and go on from it once."),
    ("topological_order", order_by_the_method, "it calls .order(), which does just that"),
    ("topological_order", order_by_the_library, "it calls the library's topological_order"),
    ("topological_order", order_of_trees, "is right for trees only"),
    ("topological_order", order_by_number_of_parents, "relu z stands before z, from which"),
    ("topological_order", order_by_depth, "and go on from it once."),
    ("topological_order", order_by_depth_the_other_way, "and go on from it once."),
    ("topological_order", order_as_a_set, "expected a list of Variables."),
    ("topological_order", order_nested, "which is no Variable of this graph."),
    ("topological_order", order_of_names, "it lists 'a', which is no Variable of this graph."),
    ("backward_residual", residual_by_the_library, "it calls the library's backward_residual"),
    ("backward_residual", residual_with_way_round_twice, "grad_x: 15 of 15 elements differ"),
    ("backward_residual", residual_wrong_when_square, "for 5 examples of 3 numbers, 3 hidden"),
    ("backward_residual", residual_without_bias, "grad_x: 6 of 15 elements differ"),
    ("backward_residual", residual_into_what_was_given, "it changes its input; work on a copy."),
    ("backward_residual", residual_without_relu_forward, "grad_w: 9 of 9 elements differ"),
    ("backward_conv2d", conv_by_the_library, "it calls the library's backward_conv2d"),
    ("backward_conv2d", conv_with_minus, "of_images: 20 of 20 elements differ"),
    ("backward_conv2d", conv_flipped_twice, "of_images: 20 of 20 elements differ"),
    ("backward_conv2d", conv_of_positive_gradients, "of_images: 12 of 20 elements differ"),
    ("backward_conv2d", conv_of_the_last_image, "of_kernels: 72 of 72 elements differ"),
    ("backward_conv2d", conv_with_swapped_kernel, "of_kernels: it returns shape (1, 1, 2, 3)"),
    ("backward_conv2d", conv_in_dtype_of_the_images, "for images and kernels of whole numbers"),
]
