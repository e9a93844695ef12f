"""What notebook A asks beforehand."""

from gpulearn.judge.prediction import Choices, Number

PREDICTIONS = (
    Number(
        "cnn_parameters",
        "parameters",
        {
            101_770: "101,770 is the MLP.",
            220_234: "220,234 would need padding, so that images stay as large up to each pool.",
            121_834: "121,834 is without the biases of the convolutions: each filter has one.",
            121_760: "121,760 is without the biases.",
            104_074: "104,074 would need filters of one channel in the second convolution.",
        },
        came="cnn_counted",
    ),
    Choices(
        "view_400",
        {
            "an error: the sizes do not fit": "That would need a count of numbers that 400 does "
            "not divide.",
            "25 rows of 400": "That would be right for images of 32 × 32.",
            "16 rows of 400": "",
        },
        came="f'{len(rows_of_400)} rows of {rows_of_400.shape[1]}'",
    ),
    Choices(
        "plain_batch",
        {
            "32 each": "That would need TensorFlow to cut the tensor. It cuts data sets that it "
            "is given to distribute.",
            "all 64 on both": "",
            "64 on one, none on the other": "That would need replicas that divide up whole "
            "batches.",
        },
        came="f\"{rows_seen['plain tensor'][0]} and {rows_seen['plain tensor'][1]}\"",
    ),
    Choices(
        "own_rows",
        {
            "as it should, since a mean is a mean": "That would need replicas whose gradients are "
            "averaged. They are added.",
            "as with half the learning rate": "That would need a division by 128.",
            "as with twice the learning rate": "",
        },
        came="f'twice the learning rate, to {doubled:.1e}'",
    ),
    Choices(
        "short_batch",
        {
            "their mean": "That would need a division by 30.",
            "about half of their mean": "",
            "about twice their mean": "That would need a division by 15, the rows of one replica.",
        },
        came="f'{part:.3f} of their mean'",
    ),
    Choices(
        "killed_worker",
        {
            "about 500": "That would need each worker to own a third of the steps from the start, "
            "and half of one third to be lost. They are handed out one by one.",
            "599": "That would need the killed worker's step to be lost. It is handed out again.",
            "600 or 601": "",
        },
        came="counted",
    ),
    Choices(
        "who_adds",
        {
            "never: each device descends with its own gradient": "That would be another program "
            "than the one for whole arrays. jit keeps what a program computes.",
            "only for the loss, when it is read": "That would leave each device a gradient of its "
            "own rows. It is that of the mean over all 64.",
            "at least once in a step": "",
        },
        came="f'all-reduces in the compiled step: {collectives}'",
    ),
    Choices(
        "mean_of_gradients",
        {
            "the same losses": "That would need gradients that are each device's own. They are "
            "added up already.",
            "steps 8 times too long": "",
            "steps 8 times too short": "That would need a division by 8 with no sum before it.",
        },
        came="f'a first step {ratio:.2f} times as long'",
    ),
)
