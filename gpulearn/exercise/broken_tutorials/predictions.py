"""What notebook 22 asks beforehand."""

from gpulearn.exercise.broken_tutorials.predictions_ranks import OF_RANKS
from gpulearn.exercise.prediction import Choices, Number

TRUE, FALSE, CONDITION = "true", "false", "true on a condition"

PREDICTIONS = (
    Choices(
        "a_launch_that_fails",
        {
            "an error code": "That would need somebody to ask for it: a launch returns nothing.",
            "cudaSuccess": "",
            "nothing, since the program is ended": "That would need a language that raises errors. "
            "CUDA keeps the error until it is asked for.",
        },
        came="too_wide.status",
    ),
    Number(
        "after_the_launch",
        "sectors",
        {
            4: "4 would need neighbouring threads to write neighbouring elements of a row.",
            2: "2 would be 16 neighbouring floats. These threads write a row apart.",
            32: "32 would need 32 different rows: a warp of a 16 × 16 block has 16 of them, and "
            "two neighbours in each.",
        },
        came="sectors",
    ),
    Choices(
        "formula_of_a_convolution",
        {
            "1": "",
            "36": "That would need an output index, a number for each place of the filter.",
            "64": "That would need an output index and a border that is filled up.",
        },
        came="str(by_formula.size)",
    ),
    Choices(
        "blur_suspect",
        {
            "a plus sign, five times one fifth": "That would need each of the four neighbours "
            "once.",
            "one arm of the plus is missing and the opposite one is doubled": "",
            "a plus sign whose numbers add up to more than one": "That would need more than five "
            "fifths.",
            "a plus sign with rows and columns exchanged": "That looks the same as a right one: "
            "a plus is symmetric.",
        },
        came="f'{response[2, 3]:.1f} above and {response[4, 3]:.1f} below'",
    ),
    Number(
        "right_by_turns",
        "orders",
        {
            0: "0 would need threads that interrupt each other between a read and its write.",
            10: "10 would need chance. Threads in turn never meet, whatever their order.",
        },
        came="right_orders",
    ),
    Choices(
        "counted_at_once",
        {
            "all of them": "That would need an addition that nobody can interrupt.",
            "about half": "That would need two threads, and no more, to meet in one place each "
            "time.",
            "a few hundred or thousand": "",
        },
        came="f'{sums[0]:,}'",
    ),
    Choices(
        "on_another_device",
        {
            "it runs there": "That would need the labels to be there too.",
            "it stops with an error": "",
            "it runs on the CPU, without a word": "That would need torch to move tensors by "
            "itself.",
        },
        came="elsewhere[:8]",
    ),
    Number(
        "rows_of_25_images",
        "rows",
        {
            25: "25 would need 400 numbers for each image. Here an image has 256.",
            0: "torch has no reason to complain: the numbers come out even.",
        },
        came="len(scores)",
    ),
    Choices(
        "score_of_noise",
        {
            "about 10 %": "That would be chance among ten classes, if the labels were real.",
            "about 50 %": "That would be chance between two classes. There is one.",
            "100 %": "",
        },
        came="f'{noise_score:.0%}'",
    ),
    Choices(
        "rate_of_the_first_epoch",
        {
            "0.1": "That would need a schedule that has not stepped yet.",
            "0.01": "That would need a schedule that stands between the milestones.",
            "0.001": "",
        },
        came="f'{used[0]:g}'",
    ),
    Number(
        "batches_behind_a_step",
        "batches",
        {
            4: "4 would need (number + 1) % 4: the numbers begin with 0.",
            0: "0 would need a step before the backward pass of the first batch.",
        },
        came="behind[0]",
    ),
    Choices(
        "claim_memory_bound",
        {
            TRUE: "That would need a GPU's memory to be no faster than a CPU's.",
            FALSE: "That would need data that are on the GPU always. On their way over the link "
            "they are slower.",
            CONDITION: "",
        },
        came="f'{gain:.0f} times the bandwidth, once the data are there'",
    ),
    Choices(
        "claim_data_set",
        {
            TRUE: "That would need the whole set on the GPU. A batch is enough.",
            FALSE: "That would need that nobody puts the whole set there, which small sets invite.",
            CONDITION: "",
        },
    ),
    Choices(
        "claim_asynchronous",
        {
            TRUE: "That would need gradients or weights that are not sent.",
            FALSE: "",
            CONDITION: "That would need a condition under which a gradient needs no sending; there "
            "is none in this scheme.",
        },
        came="' and '.join(f'{size:,.0f}' for size in per_gradient.values()) + ' bytes'",
    ),
    Choices(
        "claim_layers",
        {
            TRUE: "That would need a layer that can begin before the layer below it has ended.",
            FALSE: "That would need that a batch cannot be cut into parts that follow one another.",
            CONDITION: "",
        },
        came="f'{idle[1]:.0%} idle with one batch, {idle[64]:.0%} with 64 parts'",
    ),
    *OF_RANKS,
)
