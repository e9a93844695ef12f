"""What the pipeline's sections of notebook 19 ask beforehand."""

from gpulearn.exercise.prediction import Choices, Number

PREDICTIONS = (
    Choices(
        "idle_naive",
        {
            "a quarter": "That would need three ranks that work at any time. Each waits for what "
            "the one before it makes, or for the gradient of the one behind it.",
            "half": "That would need two ranks that work at any time. The only micro-batch that is "
            "under way is on one rank.",
            "three quarters": "",
        },
        came="f'{naive.bubble:.0%}'",
    ),
    Number(
        "bubble_of_gpipe",
        "%",
        {
            75: "75 % is the naive order, in which one rank works at any time.",
            25: "25 % would need ranks that begin all at once. The last one begins three passes "
            "after the first.",
            0: "0 % would need work for the last rank before the first has made any.",
            50: "50 % would be 8 ranks' p − 1 of 14. Here 3 of 7 passes are lost.",
        },
        came="100 * gpipe.bubble",
        within=0.05,
    ),
    Choices(
        "off_one_process",
        {
            "they are equal to rounding": "",
            "each micro-batch adds an error of some per cent": "That would need a gradient that is "
            "not a sum over rows. It is one, whatever the rows are grouped into.",
            "they are right for equal micro-batches alone": "That would be right if each counted "
            "1/M. Each counts by its rows.",
        },
        came="f'{off:.0e} away'",
    ),
    Choices(
        "what_1f1b_saves",
        {
            "time": "That would need fewer idle passes. The first rank still waits for the last.",
            "activations": "",
            "both": "That would need fewer idle passes as well. The first rank still waits for "
            "the last.",
        },
        came="f'{alternating.seconds:g} s in place of {gpipe_8.seconds:g} s, {alternating_held} "
        "held in place of {gpipe_held}'",
    ),
    Choices(
        "sends_that_block",
        {
            "nothing, it only takes longer": "That would need a rank that receives while it sends. "
            "A blocking send waits until the other side has come to its receive.",
            "two neighbours wait for each other": "",
            "gradients overtake activations": "That would need messages without tags. Here nobody "
            "receives anything at all.",
        },
        came="refused",
    ),
    Number(
        "bubble_of_chunks",
        "seconds",
        {
            9: "9 s are idle without chunks: a pass through a chunk is half as long.",
            2.25: "2.25 s would be four chunks.",
            0: "0 s would need a last rank that has work from the start.",
        },
        came="chunked.seconds - 24",
    ),
    Number(
        "idle_seconds_of_zb",
        "seconds",
        {
            9: "9 s are idle in 1F1B. There each gradient waits for the weights' half as well.",
            6: "6 s would be 3 · (F + I). The weights' halves fill a part of them.",
            0: "0 s would need more activations: that is the paper's other schedule, ZB-H2.",
        },
        came="zero.seconds - 24",
    ),
)
