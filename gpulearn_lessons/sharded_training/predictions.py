"""What notebook 20 asks beforehand."""

from gpulearn.judge.prediction import Choices, Number

PREDICTIONS = (
    Number(
        "bytes_per_parameter",
        "bytes",
        {
            4: "4 is the weight alone.",
            8: "8 are the weight and its gradient; the optimiser remembers something too.",
            12: "12 would be right for momentum, which remembers one number of each parameter, "
            "or before backward, when there are no gradients.",
        },
        came="each_parameter",
        within=0.02,
    ),
    Choices(
        "each_steps_its_part",
        {
            "six times 0.8": "That would need rank 1 to send what it has stepped.",
            "0.8 three times, then 1 three times": "",
            "0.9 three times, then 1 three times": "That would need its own gradient alone. The "
            "mean of 1 and 3 is 2.",
        },
        came="str(halves[0])",
    ),
    Choices(
        "bytes_of_stage_1",
        {
            "half as many": "That would be the reduce-scatter alone. The new weights have to be "
            "gathered.",
            "as many": "",
            "1.5 times as many": "That would need a whole all-reduce, and a gather of the weights "
            "after it.",
        },
        came="f'{times_1:.3f} times as many'",
    ),
    Number(
        "gradients_on_a_rank",
        "bytes",
        {
            4: "4 would be the whole gradient.",
            2: "2 would be right for two ranks.",
            0: "0 would leave nothing to step with.",
        },
        came="gradient_bytes",
        within=0.02,
    ),
    Choices(
        "own_length",
        {
            "each as long as the whole gradient": "That would need shards that hold all of it.",
            "each a quarter of the whole": "That would need lengths that add up. It is their "
            "squares that do.",
            "shorter than the whole, each by a different factor": "",
        },
        came="'{}, and the whole {:.3f}'.format(', '.join(f'{own:.3f}' for own in own_lengths), "
        "length)",
    ),
    Choices(
        "stage_3_peak",
        {
            "at the start of forward": "That would need whole weights at the start; there are "
            "shards, and no gradients.",
            "between forward and backward": "That would need weights that stay from forward to "
            "backward.",
            "at the end of backward": "",
            "in the optimiser's step": "That would need whole gradients in the step. By then "
            "there are shards alone.",
        },
    ),
    Choices(
        "three_stages",
        {
            "by a few per cent": "That would need another gradient, or another step.",
            "by rounding": "",
            "not at all, to the bit": "That would need sums in the same order as in one process.",
        },
        came="f\"{off['3: and weights']:.0e}\"",
    ),
    Number(
        "stage_1_of_7_5_billion",
        "GB",
        {
            1.9: "1.9 is stage 3: everything is divided by 64.",
            30: "30 would be right if the state were gone. A 64th of it stays.",
            60: "60 would be right if the state were half of it. It is 12 bytes of 16.",
            90: "90 would be right if the state were 4 bytes of 16. It is 12.",
        },
        came="gigabytes[1]",
        within=0.03,
    ),
    Number(
        "times_3",
        "times",
        {
            1: "1 would need weights that are gathered once. Backward needs them again.",
            2: "2 would need four passes. There are two gathers and one reduce-scatter.",
            3: "3 passes, and a ring all-reduce is two of them.",
        },
        came="times",
        within=0.02,
    ),
    Choices(
        "prefetch_gain",
        {
            "hardly any": "That would need a sending that is short beside the computing from the "
            "start.",
            "about a fifth": "",
            "about a half": "That would need sending that takes as long as computing.",
        },
        came="f'{1 - seconds[True] / seconds[False]:.0%}'",
    ),
    Choices(
        "offload_seconds",
        {
            "about 2 ms": "That would need a link of 1,000 GB/s.",
            "about 60 ms": "",
            "about 250 ms": "That would be right for whole gradients and weights: here each GPU "
            "moves a quarter.",
        },
        came="f'{on_the_way * 1e3:.0f} ms'",
    ),
    Choices(
        "library_and_ours",
        {
            "rounding": "",
            "the third digit": "That would need a library that trains in another way.",
            "the library adds gradients up, so that it learns faster": "That would need a sum "
            "without a division. It takes the mean as well.",
        },
        came="f'{gap:.0e}'",
    ),
    Choices(
        "rank_order",
        {
            "all are there, in another order": "That would need four files to be read.",
            "the last four are lost": "",
            "only the padding is lost": "That would need files of five numbers.",
        },
        came="f'lost: {lost}'",
    ),
    Choices(
        "goes_on",
        {
            "to the bit on 4, to rounding on fewer": "",
            "to the bit on any number of ranks": "That would need sums in the same order "
            "whatever the number of ranks.",
            "with a jump, as after a new start": "That would need a state of the optimiser that "
            "is not in the checkpoint.",
        },
        came="', '.join(f'{ranks} ranks: {away:.0e}' for ranks, away in apart.items())",
    ),
)
