"""What a five-point stencil on a grid needs, by the roofline."""

from gpulearn import require


@require.positive("rows", "columns", "peak", "bandwidth")
def analyze_stencil(
    rows: int, columns: int, peak: float, bandwidth: float
) -> tuple[int, int, str, float]:
    """What a step needs on a machine: operations, bytes moved, the limit, and the least seconds.

    A step of Jacobi's method for the heat equation at rest replaces each inner number of a float32
    grid by the mean of its four neighbors: three additions and one product. Each grid counts once:
    one is read and one is written, whole. The machine does `peak` operations and moves `bandwidth`
    bytes per second; the limit is "memory" or "arithmetic". Source: the roofline (Williams,
    Waterman, Patterson, 2009).

    >>> analyze_stencil(1002, 1002, peak=8e12, bandwidth=320e9)[:3]
    (4000000, 8032032, 'memory')
    """
    flops = 4 * (rows - 2) * (columns - 2)
    bytes_moved = 2 * 4 * rows * columns
    computing, moving = flops / peak, bytes_moved / bandwidth
    limit = "arithmetic" if computing >= moving else "memory"
    return flops, bytes_moved, limit, max(computing, moving)
