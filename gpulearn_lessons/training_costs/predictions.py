"""What notebook 14 asks beforehand."""

from gpulearn.judge.prediction import Choices, Number, below

PREDICTIONS = (
    Choices(
        "largest_part",
        {
            "the parameters": "That would need a batch of a few images. Parameters are there once, "
            "activations for each image.",
            "the gradients": "That would need a batch of a few images, and they are only as large "
            "as the parameters.",
            "the state of the optimiser": "That would be right for a batch below 13: it is two "
            "numbers a parameter, and does not grow with the batch.",
            "the activations": "",
        },
        came="'{}, {:.2f} MB'.format(*max((('the ' + name, size / 1e6) for name, size in"
        " bars['batch 64, measured']._asdict().items()), key=lambda one: one[1]))",
    ),
    Choices(
        "descent_saves",
        {
            "nothing": "That would be right against an optimiser without a memory. AdamW keeps two "
            "means.",
            "about a tenth": "That would be right at a batch of some 100: the activations grow, "
            "and the state does not.",
            "about a third": "",
            "more than half": "That would need the state to be more than all the rest. Parameters "
            "and gradients alone are as large.",
        },
        came="f\"{1 - kept['sgd'].total / kept['adamw'].total:.0%}\"",
    ),
    Choices(
        "peak_above",
        {
            "not at all": "That would need backward to make no tensor before it has freed one.",
            "by less than half": "",
            "it is about twice as much": "That would need a gradient of every activation at the "
            "same time. Each is dropped when the layer before it is done.",
            "it is below the sum": "That would be right if parts came after one another. All four "
            "are there when the backward pass begins.",
        },
        came="f'by {peak / budget.total - 1:.0%}'",
    ),
    Number(
        "bias_on_a_gpu",
        "bytes",
        {
            10: "10 is the number of elements; a float32 has 4 bytes.",
            40: "40 would be right without rounding: each block is a multiple of 512.",
            64: "64 would be right for blocks as long as two sectors.",
            2097152: "2 MiB is the segment that it is cut from, and shares with others.",
        },
        came="block(sizes['bias of 10'])",
    ),
    Choices(
        "kept_losses",
        {
            "the losses as they are": "",
            "the losses, each after its backward": "That would need backward to keep what it has "
            "used. It frees each layer's activations.",
            "loss.item()": "That would need a number to hold the graph. Only the tensor does.",
            "loss.item() under no_grad": "That would need a graph, and under no_grad none is made.",
        },
        came="f\"the losses as they are, {peaks['the loss'] / 1e6:.1f} MB\"",
    ),
    Number(
        "recompute_flops",
        "times",
        {
            1: "1 would be right if what was forgotten came from somewhere else. It is computed.",
            1.5: "1.5 would be right if backward did as much as forward: 3 in place of 2.",
            2: "2 would be right if the backward pass were made twice as well.",
            4: "4 counts forward as 1, backward as 2 and forward once more. Without recomputing it "
            "is 3.",
        },
        came="more",
        within=0.05,
    ),
    Choices(
        "best_remedy",
        {
            "4 micro-batches": "That would be right if activations were nearly all of it: they "
            "fall to a quarter.",
            "bfloat16": "That would need more than half of the bytes to go. Weights and state "
            "stay float32.",
            "recompute": "That would be right if stages were many, and small against the whole.",
            "plain descent": "That would be right if the state outweighed the activations.",
            "half as wide": "That would be right if the activations counted little: parameters "
            "fall to a quarter, activations to a half.",
        },
        came="'{}, {:.1f} MB left'.format(*min(((what, memory) for what, (memory, time) in"
        " remedies.items() if what not in ('as it is', 'the first three')),"
        " key=lambda one: one[1]))",
        pick=lambda came: next(
            choice
            for choice in ("4 micro-batches", "bfloat16", "recompute", "plain descent", "half as")
            if came.startswith(choice)
        ).replace("half as", "half as wide"),
    ),
    Choices(
        "bits_error",
        {
            "by a tenth or more": "That would be right if the errors of all layers pointed the "
            "same way.",
            "by a hundredth or a few": "That would be right if the error of a product was about "
            "that of one rounding, up to 1 in 256, and layers added some.",
            "by a thousandth or less": "That would need more than 8 bits: one rounding is off by "
            "up to 1 in 256.",
        },
        came="f\"{100 * errors['bfloat16']:.1f} %\"",
        pick=below(
            {"by a thousandth or less": 0.2, "by a hundredth or a few": 8}, "by a tenth or more"
        ),
    ),
    Choices(
        "silent_digits",
        {
            "none": "That would be right if no gradient was nearer to zero than 3·10⁻⁸.",
            "up to a quarter": "That would be right if only few digits were read with certainty.",
            "a quarter or more": "That would be right if the network was certain of many digits, "
            "and their gradients tiny.",
        },
        came="f\"{lost['float16', 1]} of 512\"",
        pick=below({"none": 1, "up to a quarter": 128}, "a quarter or more"),
    ),
    Choices(
        "scale_too_large",
        {
            "nothing: it is divided out again": "That would need a range without end. Above 65,504 "
            "float16 has only inf, and inf divided is inf.",
            "all weights become nan": "That would be right without a look at the gradients before "
            "the step.",
            "the step is left out": "",
            "the step is clipped": "That would need a finite norm. That of a gradient with inf is "
            "inf or nan.",
        },
        came="'the step is left out' if not tried[0][1] else 'it is taken'",
    ),
    Choices(
        "tf32_of_a_mean",
        {
            "smaller, as its result is": "That would be right of an absolute error. Relative "
            "to a small result it is larger.",
            "about as large": "That would be right if rounding knew what will be subtracted. It "
            "rounds 100 and what matters together.",
            "10 to 100 times as large": "",
        },
        came="'{:.0f} times as large'.format("
        "rounding['TF32', '(A + 100) − mean'] / rounding['TF32', 'A·B'])",
    ),
    Choices(
        "backward_to_forward",
        {
            "less than 1.3 times": "That would be right if layers without products took most of "
            "the forward pass.",
            "from 1.3 to 2.7 times": "That would be right if products were nearly all: two for "
            "each one of the forward pass.",
            "more than 2.7 times": "That would be right if other things were slower backward than "
            "forward, such as convolutions in small images.",
        },
        came="f'{plain.backward / plain.forward:.1f} times'",
        pick=below(
            {"less than 1.3 times": 1.3, "from 1.3 to 2.7 times": 2.7}, "more than 2.7 times"
        ),
    ),
    Choices(
        "data_share",
        {
            "below 10 %": "That would be right if Python handled an image in a few microseconds, "
            "or the network was far larger.",
            "from 10 to 40 %": "That would be right if a few Python calls for each image cost "
            "less than computing on it.",
            "more than 40 %": "That would be right if a few Python calls for each image cost "
            "more than computing on it.",
        },
        came="f'{100 * one_by_one.data / one_by_one.total:.0f} %'",
        pick=below({"below 10 %": 10, "from 10 to 40 %": 40}, "more than 40 %"),
    ),
    Choices(
        "images_a_second",
        {
            "about as many": "That would be right if a call cost nothing, and only images counted.",
            "2 to 20 times as many": "That would be right if the price of the calls was most of "
            "a small step, and little of a large one.",
            "20 times as many or more": "That would be right if a step took nearly the same time, "
            "whatever the batch.",
        },
        came="f'{rates[256] / rates[4]:.1f} times as many'",
        pick=below({"about as many": 2, "2 to 20 times as many": 20}, "20 times as many or more"),
    ),
)
