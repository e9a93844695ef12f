"""What notebook 02 asks beforehand."""

from gpulearn.judge.prediction import Choices, Number, below


def _wider_gap(came: str) -> str:
    slope, flat = (float(part.split()[0]) for part in came.split(", "))
    if max(slope, flat) < 1.1 * min(slope, flat):
        return "it is the same everywhere"
    return "on the slope" if slope > flat else "on the flat part"


PREDICTIONS = (
    Choices(
        "operations_per_byte",
        {
            "fewer than one": "That would need a memory that delivers more bytes in a second than "
            "all cores do operations.",
            "one to 50": "That would need a ridge point from 1 to 50, as most CPUs have.",
            "more than 50": "That would need many cores with wide units behind a slow memory. "
            "Few CPUs are like that.",
        },
        came="f'{here.ridge:.3g} operations'",
        pick=below({"fewer than one": 1, "one to 50": 50}, "more than 50"),
    ),
    Choices(
        "above_the_ridge",
        {
            "only the layer with b = 1024": "That would need a ridge point above 15.8, where the "
            "layer with b = 32 is.",
            "the layers with b = 32 and b = 1024": "That would need a ridge point between 0.625 "
            "and 15.8.",
            "these two and softmax": "Softmax would need a ridge point below 0.625: it does five "
            "operations for eight bytes.",
            "all but the update": "The layer with b = 1 would need a ridge point below 0.5: two "
            "operations for a weight of four bytes.",
        },
        came="next(f'{len(names)}: ' + ' and '.join(names) for names in"
        " [[w for w, (f, m) in work.items() if f / m > here.ridge]])",
        pick=below(
            {
                "only the layer with b = 1024": 2,
                "the layers with b = 32 and b = 1024": 3,
                "these two and softmax": 4,
            },
            "all but the update",
        ),
    ),
    Choices(
        "update_at_best",
        {
            "less than a tenth of it": "That would need a ridge point above 1.7, ten times the "
            "intensity of the update.",
            "a tenth to a half of it": "That would need a ridge point between 0.33 and 1.7: the "
            "update does 1/6 operation for each byte.",
            "more than half of it, if well programmed": "That would need a ridge point below "
            "0.33. No program makes bytes arrive faster.",
        },
        came='f\'{here.attainable(work["update"][0] / work["update"][1]) / here.peak:.1%} of it\'',
        pick=below(
            {"less than a tenth of it": 10, "a tenth to a half of it": 50},
            "more than half of it, if well programmed",
        ),
    ),
    Choices(
        "layer_of_32",
        {
            "less than 3 times": "That would need weights that arrive so slowly that 32 examples "
            "can be computed meanwhile, at nearly the peak rate.",
            "3 to 20 times": "That would be right where arithmetic takes over before b = 32, or a "
            "library is slow with so few rows.",
            "about 32 times": "That would be right if each example fetched the weights anew, or "
            "if arithmetic was the limit for b = 1 too.",
        },
        came="f'{points[3].seconds / points[2].seconds:.2g} times as long'",
        pick=below({"less than 3 times": 3, "3 to 20 times": 20}, "about 32 times"),
    ),
    Choices(
        "small_and_large_sum",
        {
            "yes, they have the same intensity": "That would be right if all bytes came from main "
            "memory. The small sum's stay in the cache.",
            "no, the small one is faster": "That would need a cache that delivers more than the "
            "price of a call takes away.",
            "no, the large one is faster": "That would be right if the price of the call was most "
            "of the small sum's time.",
        },
        came="'{:.3g} GFLOP/s small, {:.3g} large'.format("
        "*(1e-9 * one.flops / one.seconds for one in sums))",
        pick=lambda came: below(
            {"no, the large one is faster": 0.8, "yes, they have the same intensity": 1.25},
            "no, the small one is faster",
        )(str(float(came.split()[0]) / float(came.split()[3]))),
    ),
    Number(
        "gain_from_the_peak",
        "kinds of work",
        {
            0: "0 would need a ridge point to the right of all five.",
            1: "1 would be right if the layer with b = 32 was memory-bound too. Its intensity is "
            "15.8.",
            2: "2 would be right if the layer with b = 32 was compute-bound here. It needs 15.8 to "
            "be right of the ridge point.",
            3: "3 would be right if every layer was compute-bound. With b = 1 each weight is used "
            "only once.",
            4: "4 would be right if only the update was memory-bound. Softmax has an intensity of "
            "0.625.",
            5: "5 would be right if arithmetic was the limit of all. To a memory-bound kernel a "
            "higher peak brings nothing.",
        },
        came="sum(here.seconds(*work[w]) > 1.005 * stronger.seconds(*work[w]) for w in work)",
    ),
    Choices(
        "one_pass_for_two",
        {
            "1: the arithmetic is the same": "That would be right if arithmetic was the limit, or "
            "if something else held up the single step.",
            "1.67: 12 bytes for 20": "That would need memory as the only limit. Here something "
            "else took its time as well.",
            "2: one step for two": "That would be right if both steps moved 12 bytes a number. "
            "The first moves 8.",
        },
        came="f'{factor:.2f} times'",
        pick=below(
            {"1: the arithmetic is the same": 1.2, "1.67: 12 bytes for 20": 1.9},
            "2: one step for two",
        ),
    ),
    Choices(
        "ridge_of_a_t4",
        {
            "left of yours": "That would need a CPU with a ridge point above 25: more arithmetic "
            "for its bandwidth than a T4.",
            "about where yours is": "That would need a CPU whose arithmetic and bandwidth lag "
            "behind by the same factor.",
            "right of yours": "That would need a CPU with a ridge point below 25: less arithmetic "
            "for its bandwidth than a T4.",
        },
        came="f'yours at {here.ridge:.3g}, the T4 at {gl.roof(\"T4\").ridge:.3g}'",
        pick=below({"right of yours": 21, "about where yours is": 30}, "left of yours"),
    ),
    Choices(
        "ridge_over_generations",
        {
            "to the left": "That would need bandwidth to grow faster than arithmetic each time. "
            "To the H100 it grew more slowly.",
            "to the right": "That would need arithmetic to grow faster than bandwidth each time. "
            "To the A100 it grew more slowly.",
            "first left, then right": "",
            "first right, then left": "That would need arithmetic to grow faster than bandwidth to "
            "the A100, and more slowly to the H100. It was the other way round.",
            "it stays": "That would need both to grow by the same factor each time.",
        },
        came="' → '.join(f'{gl.roof(name).ridge:.3g}' for name in ('V100', 'A100 80GB', 'H100'))",
    ),
    Choices(
        "gap_between_roofs",
        {
            "on the slope": "That would need a GPU whose lead in bandwidth is the larger one.",
            "it is the same everywhere": "That would need two machines with the same ridge point.",
            "on the flat part": "That would need a GPU whose lead in arithmetic is the larger one.",
        },
        came="f'{gpu_roof.bandwidth / here.bandwidth:.1f} times on the slope, "
        "{gpu_roof.peak / here.peak:.1f} times on the flat part'",
        pick=_wider_gap,
    ),
    Choices(
        "ridge_with_tensor_cores",
        {
            "they move it to the left: the numbers are smaller": "Smaller numbers raise the "
            "intensity of the work. The ridge is peak ÷ bandwidth, and the peak is higher.",
            "nothing: it is the same GPU": "That would be right if peak and bandwidth were the "
            "same. Tensor cores raise the peak.",
            "they move it to the right": "",
        },
        came="'from {:.3g} to {:.3g} FLOP per byte'.format("
        "gl.roof('H100').ridge, gl.roof('H100', 'bfloat16').ridge)",
    ),
)
