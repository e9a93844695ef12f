"""What notebook 19 asks beforehand."""

from gpulearn.judge.prediction import Choices, Number, below

PREDICTIONS = (
    Choices(
        "what_it_writes",
        {
            "sentences that make sense": "That would need about 1 nat or less: a much larger "
            "model, more text, and far more steps.",
            "English-like words without sense": "That would need a loss between 1 and 2.2 nats.",
            "letters in no order": "That would need a loss above 2.2 nats. Whoever knows how "
            "frequent each character is, and nothing else, has 3.3 on this text.",
        },
        came='f"{held_out:.2f} nats"',
        pick=below(
            {"sentences that make sense": 1.0, "English-like words without sense": 2.2},
            "letters in no order",
        ),
    ),
    Number(
        "chain_of_a_decoder",
        "times",
        {
            4: "4 would need each place to wait for the one before it, as in a recurrent network.",
            16: "16 is how attention's work grows. Its pairs of places can be computed at once.",
        },
        came="chains['decoder'][2] / chains['decoder'][0]",
    ),
    Number(
        "bytes_for_a_parameter",
        "bytes",
        {
            4: "4 are the parameter alone.",
            8: "8 are the parameter and its gradient. AdamW keeps two means besides.",
            12: "12 would be an optimiser with one mean, such as momentum. AdamW has two.",
        },
        came="held_bytes / shape.parameters()",
    ),
    Number(
        "gpus_for_gpt3",
        "GPUs",
        {
            1: "One would need a model of at most 5 billion parameters.",
            9: "9 hold the parameters alone, in float32. There are gradients and two means, too.",
            18: "18 hold parameters and gradients. AdamW keeps two means besides.",
        },
        came="gpus_filled",
        within=0.1,
    ),
    Choices(
        "gradient_by_columns",
        {
            "the whole gradient, on every rank": "That would need every rank to know how the "
            "loss depends on the columns of the others.",
            "an addend of it, on every rank": "",
            "the gradient of half of x's columns": "Each rank multiplies by all columns of x. It "
            "is the columns of the result that it has half of.",
        },
    ),
    Number(
        "all_reduces_of_two",
        "all-reduces",
        {
            0: "Without one, each rank would have an addend of the result.",
            2: "One for each product would be two. What `up` has made stays where `down` needs it.",
        },
        came="rings",
        within=0.01,
    ),
    Number(
        "bias_of_all_ranks",
        "times",
        {
            1: "Once would need one rank to add it, or all of them after the sum.",
            2: "Twice would be two ranks.",
        },
        came="times_bias",
        within=0.01,
    ),
    Choices(
        "between_the_heads",
        {
            "keys and values of all places": "That would need a head to look into another "
            "head's keys. Each rank has all places of its own heads.",
            "the scores, for the softmax": "A softmax goes over the places of one head, and its "
            "rank has them all.",
            "nothing": "",
        },
        came="f'nothing; after it {sums} all-reduce'",
    ),
    Choices(
        "loss_of_own_tokens",
        {
            "right": "That would need the other rank's tokens to have no probability at all.",
            "too small": "",
            "too large": "The sum in the softmax is over fewer tokens, so it is smaller, and its "
            "logarithm too.",
        },
        came="'{:.2f} and {:.2f} where {:.2f} is right'.format(*own_losses, whole_loss)",
    ),
    Choices(
        "decoders_apart",
        {
            "equal to the bit": "That would need the ranks' sums to be rounded as those of one "
            "process, which adds in another order.",
            "by less than 1e-12": "That would need sums that differ by their rounding alone.",
            "by about 1e-6": "That is what float32 would leave.",
        },
        came='f"{apart:.0e}"',
        pick=below({"equal to the bit": 1e-300, "by less than 1e-12": 1e-12}, "by about 1e-6"),
    ),
    Choices(
        "against_gradients",
        {
            "data parallelism": "That would need fewer tokens in a batch, or more parameters: its "
            "bytes are those of the parameters, and the other's grow with the tokens.",
            "tensor parallelism": "That would need more bytes of activations than of gradients.",
            "about as much": "It would be a coincidence: one grows with the tokens, the other "
            "with the parameters.",
        },
        came="f'{tensor_sent / data_sent:.1f} times as much with tensors'",
        pick=below({"data parallelism": 0.8, "about as much": 1.25}, "tensor parallelism"),
    ),
    Choices(
        "bytes_by_places",
        {
            "less than a tenth more": "That would need gathering and scattering to send together "
            "what an all-reduce does.",
            "half as much again": "That would need collectives besides those that take the places "
            "of the all-reduces.",
            "twice as much": "There are twice as many collectives, and each sends half: an "
            "all-reduce is one of each.",
        },
        came="f'{sent_by_places / sent:.2f} times as much'",
        pick=below({"less than a tenth more": 1.1, "half as much again": 1.75}, "twice as much"),
    ),
    Choices(
        "busiest_axis",
        {
            "data": "That would need more bytes of gradients than of activations: a larger model "
            "or fewer tokens in a batch.",
            "pipeline": "It carries the activations between two layers once each way.",
            "tensor": "It carries activations four times in every layer.",
        },
        came="max(along, key=along.get)",
        pick=lambda came: came,
    ),
    Number(
        "all_reduces_of_torch",
        "all-reduces",
        {
            0: "Without one, each rank would have an addend of the result.",
            2: "Two would be one for each product. What columns have made is what rows need.",
        },
        came="torch_all_reduces",
    ),
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
            25: "25 % would be one idle pass beside three of work. The last rank waits for three "
            "forward passes before it begins, and works for four.",
            0: "0 % would need work for the last rank before the first has made any.",
            50: "50 % would be as many idle passes as passes of work: 3 are lost beside 4 of work.",
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
            "alike. Each counts by its rows.",
        },
        came="f'{farthest:.0e} away'",
    ),
    Choices(
        "what_1f1b_saves",
        {
            "time": "That would need fewer idle passes. The first rank still waits for the last.",
            "activations": "",
            "both": "That would need fewer idle passes as well. The first rank still waits for "
            "the last.",
        },
        came="f'{alternating.seconds:g} s instead of {gpipe_8.seconds:g} s, {alternating_held} "
        "held instead of {gpipe_held}'",
    ),
    Choices(
        "sends_that_block",
        {
            "nothing, it only takes longer": "That would need a rank that receives while it sends. "
            "A blocking send waits until the other side has come to its receive.",
            "two neighbours wait for each other": "",
            "gradients overtake activations": "That would need messages that arrive. Here both "
            "ranks are in a send, and neither receives.",
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
