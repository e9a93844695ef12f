"""Answers to notebook 12 by another hand than the catalogue's."""

import graphlib
import math

import numpy as np


def matmul_stacked(a, b, gradient):
    return np.array([gradient @ b.T, a.T @ gradient], dtype=object)


def matmul_with_product(a, b, gradient):
    c = a @ b
    return gradient * c @ b.T, a.T @ (gradient * c)


def matmul_three(a, b, gradient):
    return a @ b, gradient @ b.T, a.T @ gradient


def relu_divides_by_x(x, gradient):
    return gradient * np.maximum(x, 0) / x


def relu_changes_x(x, gradient):
    x[x <= 0] = 0
    x[x > 0] = 1
    return gradient * x


def relu_bool(x, gradient):
    return x > 0


def relu_by_max(x, gradient):
    return gradient * max(x, 0)


def loss_by_fsum(logits, labels):
    n, k = logits.shape
    hot = (labels[:, None] == np.arange(k)).astype(logits.dtype)
    z = logits - np.amax(logits, axis=-1, keepdims=True)
    e = np.exp(z)
    loss = math.fsum(np.log(e.sum(-1)) - (z * hot).sum(-1)) / n
    return loss, (e / e.sum(-1, keepdims=True) - hot) / n


def loss_clips_the_logits(logits, labels):
    return loss_by_fsum(np.clip(logits, -500, 500), labels)


def loss_by_nan_to_num(logits, labels):
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    hot = np.eye(logits.shape[1])[labels]
    return np.nan_to_num(-np.log((p * hot).sum(axis=1))).mean(), (p - hot) / len(labels)


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


def order_by_number_of_parents(result):
    return sorted(order_by_graphlib(result), key=lambda node: len(node.parents))


def depth_asked_anew(node):
    return 1 + max(map(depth_asked_anew, node.parents), default=0)


def order_by_depth_the_other_way(result):  # of one depth the last comes first
    order = order_by_graphlib(result)[::-1]
    return sorted(order, key=depth_asked_anew)


def order_as_a_set(result):
    return set(order_by_graphlib(result))


def order_of_names(result):
    return [node.name for node in order_by_graphlib(result)]


def residual_of_parts(x, v, b, w, gradient):
    z = x @ v + b
    to_hidden, to_w = gradient @ w.T, np.maximum(z, 0).T @ gradient
    to_z = np.where(z > 0, to_hidden, 0)
    return to_z @ v.T + gradient, x.T @ to_z, sum(to_z), to_w


def residual_with_way_round_twice(x, v, b, w, gradient):
    to_x, *others = residual_of_parts(x, v, b, w, gradient)
    return to_x + gradient, *others


def residual_wrong_when_square(x, v, b, w, gradient):
    back = w if w.shape[0] == w.shape[1] else w.T
    return residual_of_parts(x, v, b, back.T, gradient)


def conv_by_loops(images, kernels, gradient, back=1):
    to_images, to_kernels = np.zeros(images.shape), np.zeros(kernels.shape)
    for n, k, y, x in np.ndindex(gradient.shape):
        for c, i, j in np.ndindex(kernels.shape[1:]):
            g, at = gradient[n, k, y, x], (n, c, y + back * i, x + back * j)
            to_images[at] += g * kernels[k, c, i, j]
            to_kernels[k, c, i, j] += g * images[at]
    return to_images, to_kernels


def conv_flipped_twice(images, kernels, gradient):
    to_images, to_kernels = conv_by_loops(images, kernels[:, :, ::-1, ::-1], gradient)
    return to_images, to_kernels[:, :, ::-1, ::-1]


def conv_with_swapped_kernel(images, kernels, gradient):
    to_images, to_kernels = conv_by_loops(images, kernels, gradient)
    return to_images, to_kernels.swapaxes(2, 3)


def conv_in_dtype_of_the_images(images, kernels, gradient):
    to_images, to_kernels = conv_by_loops(images, kernels, gradient)
    return to_images.astype(images.dtype), to_kernels


def relu_on_a_flat_copy(x, gradient):
    result = np.array(gradient)
    result.reshape(-1)[x.ravel() <= 0] = 0
    return result


def loss_on_a_flat_gradient(logits, labels):
    n, classes = logits.shape
    loss, _ = loss_by_fsum(logits, labels)
    gradient = np.exp(logits - logits.max(axis=1, keepdims=True))
    gradient /= gradient.sum(axis=1, keepdims=True)
    gradient.reshape(-1)[np.arange(n) * classes + labels] -= 1
    return loss, gradient / n


def matmul_on_flat_zeros(a, b, gradient):
    grad_a, grad_b = np.zeros_like(a, float), np.zeros_like(b, float)
    grad_a.reshape(-1)[:] = (gradient @ b.T).ravel()
    grad_b.reshape(-1)[:] = (a.T @ gradient).ravel()
    return grad_a, grad_b


def conv_on_flat_zeros(images, kernels, gradient):
    (_, c, h, w), to_images = images.shape, np.zeros_like(images, float)
    to_kernels, flat = np.zeros(kernels.shape), to_images.reshape(-1)
    for n, k, y, x in np.ndindex(gradient.shape):
        for d, i, j in np.ndindex(kernels.shape[1:]):
            flat[((n * c + d) * h + y + i) * w + x + j] += (
                gradient[n, k, y, x] * kernels[k, d, i, j]
            )
            to_kernels[k, d, i, j] += gradient[n, k, y, x] * images[n, d, y + i, x + j]
    return to_images, to_kernels


WRONG = [
    ("backward_relu", relu_on_a_flat_copy, "for float32 x of shape (4, 3) in Fortran order, "),
    ("softmax_cross_entropy", loss_on_a_flat_gradient, "(5, 4) in Fortran order, gradient: "),
    ("backward_matmul", matmul_on_flat_zeros, "in Fortran order, grad_a: 10 of 10 elements"),
    ("backward_conv2d", conv_on_flat_zeros, "in Fortran order, of_images: 32 of 32 elements"),
    ("backward_matmul", matmul_stacked, "it returns one result, an array of shape (2,)"),
    ("backward_matmul", matmul_with_product, "grad_a: 6 of 6 elements differ"),
    ("backward_matmul", matmul_three, "it returns 3 results, expected grad_a and grad_b."),
    ("backward_relu", relu_by_max, "max(x, 0) need one truth value"),
    ("backward_relu", relu_divides_by_x, "for x with zeros, 3 of 6 elements differ"),
    ("backward_relu", relu_changes_x, "it changes its input; work on a copy."),
    ("backward_relu", relu_bool, "it returns an array of bool, expected numbers."),
    ("softmax_cross_entropy", loss_clips_the_logits, "for logits of 1000, loss: it returns 1.25"),
    ("softmax_cross_entropy", loss_by_nan_to_num, "expected 15000.9"),
    ("backward", walk_that_asks_its_users, "is asked for its shares more than once."),
    ("backward", walk_that_empties_the_list, "it changes the list of nodes that it was given"),
    ("backward", walk_into_grad, "it writes into the .grad of the nodes"),
    ("backward", walk_by_the_method, "it calls .backward(), which does just that"),
    ("backward", walk_by_names, "the result of + has no gradient."),
    ("backward", walk_to_each_parent_once, "the gradient of the result of + is 7, expected 14."),
    ("backward", walk_into_what_was_given, "into a share may write into it. Write a = a + share."),
    ("backward", walk_as_a_list, "expected a dictionary of nodes and gradients."),
    ("topological_order", order_that_moves_to_the_end, "and continue from it once."),
    ("topological_order", order_by_the_method, "it calls .order(), which does just that"),
    ("topological_order", order_by_number_of_parents, "relu z comes before z, from which"),
    ("topological_order", order_by_depth_the_other_way, "and continue from it once."),
    ("topological_order", order_as_a_set, "expected a list of Variables."),
    ("topological_order", order_of_names, "it lists 'a', which is not a Variable of this graph."),
    ("backward_residual", residual_with_way_round_twice, "grad_x: 15 of 15 elements differ"),
    ("backward_residual", residual_wrong_when_square, "for 5 examples of 3 numbers, 3 hidden"),
    ("backward_conv2d", conv_flipped_twice, "of_images: 20 of 20 elements differ"),
    ("backward_conv2d", conv_with_swapped_kernel, "of_kernels: it returns shape (1, 1, 2, 3)"),
    ("backward_conv2d", conv_in_dtype_of_the_images, "for integer images and kernels"),
]
