"""What notebook 16 asks beforehand."""

from gpulearn.judge.prediction import Choices, Number, below

PREDICTIONS = (
    Choices(
        "four_gradients",
        {
            "add them": "That would be right if the loss of a batch were the sum over its images. "
            "It is their mean, and the sum of four means is four times too long.",
            "take their mean": "",
            "it cannot be had from them": "That would need a loss in which images meet each "
            "other. Here each image has a loss of its own.",
        },
        came="f'the mean is {off(parts.mean(0), whole):.0e} away from g'",
    ),
    Choices(
        "ranks_among_themselves",
        {
            "equal to the bit": "",
            "apart by rounding": "That would need ranks that receive different bits. An "
            "all-reduce gives all of them the same.",
            "apart by some per cent": "That would be right if each took the step of its own "
            "gradient. All take that of the mean.",
        },
        came="'equal to the bit' if all(torch.equal(ranks[0], four[0][0]) for ranks in four) "
        "else 'apart'",
    ),
    Choices(
        "silent_replicas",
        {
            "about a quarter as many": "That would be right if a replica learned only what is "
            "in its images one by one. A quarter of the images has every digit in it.",
            "about half as many": "That would need a quarter of the images to hold half of what "
            "is to be learned. They are shuffled, and have every digit in them.",
            "nearly as many": "That would need images so much alike that a quarter of them "
            "teaches nearly as much as all.",
        },
        came="'{:.0%} as many'.format(sum(drifts['equal seeds only'].accuracies) / 4 "
        "/ drifts['gradients averaged'].accuracies[0])",
        pick=below({"about a quarter as many": 40, "about half as many": 75}, "nearly as many"),
    ),
    Choices(
        "own_digits",
        {
            "at most two fifths of all": "",
            "about half of all": "That would need digits that look like those that it has seen. "
            "It says nothing but the three or four that it knows.",
            "nearly as many as before": "That would need ten digits on every rank, as when they "
            "were shuffled. Now each has its own.",
        },
        came="f\"{max(own['equal seeds only'].accuracies):.0%} by the best, "
        "{own['gradients averaged'].accuracies[0]:.0%} with gradients averaged\"",
    ),
    Choices(
        "adding_up",
        {
            "rate 0.05, as it was": "That would need the division by four, which is what was "
            "left out.",
            "rate 0.05 / 4": "That would be right if the gradients had been divided twice.",
            "rate 4 · 0.05": "",
            "to none": "That would need a rule in which a longer gradient is more than a longer "
            "step. For descent and momentum it is the same.",
        },
        came="f'{away(added, fourfold)[-1]:.0e} from rate 0.20, "
        "{away(added, one[1])[-1]:.0e} from rate 0.05'",
    ),
    Choices(
        "average_weights",
        {
            "for none": "That would need steps that depend on a gradient in a way that is not "
            "linear. Descent and momentum are sums of gradients times constants.",
            "for descent alone": "That would need a velocity that is not linear: it is a sum of "
            "gradients too, and the mean of velocities is the velocity of the mean.",
            "for descent and momentum": "",
            "for all three": "That would need an Adam that is linear. It divides by the root of "
            "a mean of squares.",
        },
        came="', '.join(kind for kind, distance in distances['weights, after the step'].items() "
        "if distance < 1e-9)",
    ),
    Choices(
        "clip_and_average",
        {
            "clip, then average": "That would need gradients that are all clipped by the same "
            "factor. Each rank's has a length of its own.",
            "average, then clip": "",
            "both": "That would need a clipping that is linear, and it is not: it divides by "
            "the length.",
            "neither": "That would need a mean that is not the gradient of the whole batch. "
            "Clipped after it, it is clipped as that one is.",
        },
        came="min(orders, key=lambda what: away(orders[what], clipped)[-1])",
    ),
    Choices(
        "accuracy_of_all",
        {
            "the mean of the ranks' accuracies, padded": "That would need padding that counts "
            "nothing: one digit counts twice.",
            "the mean of the ranks' accuracies, unpadded": "That would need equal parts: here "
            "an answer of the smaller part counts a little more.",
            "the sums of right answers and of samples, padded": "That would need padding that "
            "counts nothing: one digit is in both sums twice.",
            "the sums of right answers and of samples, unpadded": "",
        },
        came="f\"{evaluated['keep'][1]:.4%}, as one process finds, by sums without padding\"",
    ),
    Number(
        "seen_by_nobody",
        "digits",
        {
            0: "0 would need packs that fit together. Each rank shuffles for itself.",
            360: "360 is a quarter: what one rank sees, not what all four miss.",
            1078: "About 1,078 are left out by one rank; the others see more than half of those.",
            719: "719 is a half. All four miss a digit with a chance of (3/4)⁴, which is 0.32.",
        },
        came="times[0]",
        within=0.1,
    ),
    Choices(
        "dropout_on_ranks",
        {
            "others on each rank": "That would need random numbers of their own. With one seed "
            "all four draw the same.",
            "the same on all ranks": "",
            "none: dropout is switched off on ranks": "That would need a wrapper or a mode that "
            "does so. Ranks train as any process.",
        },
        came="f'{len(set(masks[False]))} pattern on {len(masks[False])} ranks'",
    ),
    Number(
        "mean_of_means",
        "",
        {
            2: "2 is the mean of the four numbers. Each rank counts a half, however many it has.",
            6: "6 is the sum of the two means.",
            8: "8 is the sum of all four numbers.",
            4: "4 would need the 5 to count nine times as much as each of the ones.",
        },
        came="plain[0]",
    ),
    Choices(
        "exchange_with_the_first",
        {
            "the right gradient, all of them": "That would need an exchange of what comes after "
            "it. The other three micro-batches stay where they are.",
            "the same wrong gradient, all of them": "That would need an exchange after the last "
            "one. What each adds later, it alone has.",
            "gradients that differ from rank to rank": "",
        },
        came="f\"ranks {parted['first']:.2g} apart\"",
    ),
    Choices(
        "hidden_sending",
        {
            "nothing": "That would need a rank that cannot send while it computes. The bytes are "
            "the same, the time is used twice.",
            "about a quarter": "That would need a first bucket that is full late. It is full after "
            "a quarter of backward, and its sending begins there.",
            "more than half": "",
            "all of it": "That would need a last bucket that is full before backward ends, and "
            "a link that is as fast as the arithmetic.",
        },
        came="f\"{runs['overlapping'].overlap:.0%}\"",
    ),
    Choices(
        "an_unused_head",
        {
            "it averages, with zeros": "That would need somebody to say that the gradient will "
            "not come. Its bucket waits for it.",
            "it leaves the head out": "That would need ranks that agree on what to leave out. "
            "The bucket has both heads in it, and waits.",
            "it stops in the second step": "",
            "it waits for ever": "That would need a rank that waits for another. Both find the "
            "bucket of the first step unfinished.",
        },
        came="str(two_heads[0])",
    ),
)
