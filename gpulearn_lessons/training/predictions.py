"""What notebook 13 asks beforehand."""

from gpulearn.judge.prediction import Choices, Number, below

PREDICTIONS = (
    Choices(
        "same_gradient",
        {
            "0, they have the same bits": "That would need the same operations in the same order, "
            "sums too. Each adds up in an order of its own.",
            "about 10⁻¹⁶": "",
            "about 10⁻⁷": "That would be right in float32, which keeps 7 digits. float64 keeps 16.",
            "about 10⁻²": "That would need another formula in one of the two.",
        },
        came="f'{largest:.1e}'",
    ),
    Choices(
        "lenet5_parameters",
        {
            "the first convolution": "It has 6 filters of 25 weights and 6 biases, and uses them "
            "at every place of the image: much work, few parameters.",
            "the second convolution": "It has 16 filters of 6 · 25 weights and 16 biases, however "
            "large the image is.",
            "the first linear layer": "",
            "the last linear layer": "That would need as many numbers to go in as into the first. "
            "It has 84 of them, and 10 results.",
        },
        came="'the first linear layer: {:,} of {:,}'.format("
        "sum(p.numel() for p in lenet5[7].parameters()),"
        " sum(p.numel() for p in lenet5.parameters()))",
    ),
    Choices(
        "labels_left_behind",
        {
            "the forward pass": "That would need labels in it. Model and images are together.",
            "the loss": "",
            "the backward pass": "That would need a loss, and none is computed from two devices.",
            "none: torch copies what is missing": "That would cost a copy in each step that nobody "
            "sees. torch copies nothing by itself.",
        },
        came="f'the loss: {type(mixed).__name__}'",
    ),
    Choices(
        "without_zero_grad",
        {
            "it falls as usual": "That would need each backward to replace the gradient of the one "
            "before. It adds.",
            "it falls faster": "That would need all gradients so far to point the right way still. "
            "They were taken elsewhere.",
            "it jumps about and stays high": "",
            "an error is raised": "That would need torch to know that adding up is not meant. "
            "Section 7 adds up on purpose.",
        },
        came="f'it stays high: {lost:.1%} right in the end'",
    ),
    Number(
        "first_loss",
        "",
        {
            0: "0 would need a network that is certain, and right each time.",
            0.1: "0.1 is the probability of each digit; the loss is −ln of it.",
            0.9: "0.9 is the share of mistakes of a guess. Cross-entropy counts −ln p.",
            1: "1 would be right if p was 1/e, 37 % for the right digit.",
            10: "10 is the number of classes; the loss is its logarithm.",
            3.32: "3.32 is log₂ 10. Cross-entropy takes the natural logarithm.",
        },
        came="first_loss",
        within=0.05,
    ),
    Number(
        "one_batch",
        "of 32",
        {
            3: "3 would be right for guessing, a tenth of 32.",
            16: "16 would need too few steps, or too few parameters. There are a thousand of them "
            "for each digit.",
            31: "31 would be right if dropout were on when they are counted. It is off.",
        },
        came="by_heart",
        within=0.02,
    ),
    Choices(
        "hundred_digits",
        {
            "below 20 %": "That would be right if learning by heart helped with no other digit. "
            "But other sevens look like those it knows.",
            "from 20 to 60 %": "That would need digits of the same number to differ more from "
            "one person to the next than these do.",
            "from 60 to 90 %": "That would be right if a hundred digits showed the usual ways to "
            "write, and not the rarer ones.",
            "above 90 %": "That would need a hundred digits to show nearly all the ways in which "
            "people write.",
        },
        came="f'{100 * run.accuracy:.1f} %'",
        pick=below({"below 20 %": 20, "from 20 to 60 %": 60, "from 60 to 90 %": 90}, "above 90 %"),
    ),
    Choices(
        "new_writers",
        {
            "about as many": "That would need new people to write as those do whom it knows.",
            "about twice as many": "That would be right if the way in which people write "
            "differed little from one to the next.",
            "three times as many or more": "That would be right if a network mostly learned how "
            "some people write.",
        },
        came="f\"{mistakes['new people'] / mistakes['the same people']:.1f} times as many\"",
        pick=below(
            {"about as many": 1.5, "about twice as many": 2.5}, "three times as many or more"
        ),
    ),
    Choices(
        "two_seeds",
        {
            "not at all": "That would be right if the first weights, the order of the images and "
            "dropout made no difference in the end.",
            "less than half a point": "That would be right if the runs differed by a single digit "
            "of 287, which is 0.35 points, or by none.",
            "from half a point to 5 points": "That would be right if runs from different starts "
            "came to about equally good ends.",
            "more than 5 points": "That would be right if some starts led nowhere.",
        },
        came="f'{spread:.1f} points'",
        pick=below(
            {
                "not at all": 0.01,
                "less than half a point": 0.5,
                "from half a point to 5 points": 5,
            },
            "more than 5 points",
        ),
    ),
    Choices(
        "rate_of_one",
        {
            "inf or nan": "That would be right if the weights went on growing. A network that is "
            "dead has no gradient left to grow by.",
            "above 10, and rising": "That would be right on a parabola. Here ReLUs die, and with "
            "them the gradient.",
            "about 2.3, as at the start": "",
            "below 0.5, as with smaller steps": "That would need every step to stay within what "
            "the gradient can foresee.",
        },
        came="f'{exploded.steps[-1].loss:.2f} in the last step'",
    ),
    Choices(
        "what_saves_it",
        {
            "clipping": "",
            "the warm-up": "That would be right if only the first steps were in danger. Steep "
            "places come later, too.",
            "only both together": "That would be right if the first steps were too long even when "
            "clipped.",
            "neither": "That would be right if a rate of 1 was too high everywhere.",
        },
        came="'right, the mean of three: {:.0%} with the clip, {:.0%} with the warm-up'.format("
        "*(np.mean([one.accuracy for one in saved[name]]) for name in ('clip', 'warm-up')))",
    ),
    Choices(
        "broken_pixel",
        {
            "nothing: one pixel is too few": "That would need sums in which nan gets lost. Every "
            "sum with nan in it is nan.",
            "clipping brings it back to size": "That would need a norm that is a number. With nan "
            "in the gradient it is nan.",
            "that one image is left out": "That would need somebody to look for it and go on. "
            "gl.fit looks for it and stops.",
            "training stops and names the image": "",
        },
        came="f\"it stops: {'image 700' in stopped and 'image 700 is named'}\"",
    ),
    Choices(
        "weights_of_parts",
        {
            "by 1": "That would be right if each part's loss was a sum, already divided by 256.",
            "by 1/5": "That would be right if all parts had as many images.",
            "by 60/256, the last by 16/256": "",
            "by 1/256": "That would be right if each part's loss was the sum over its images.",
        },
        came="f'by 60/256, the last by 16/256: difference {away:.0e}'",
    ),
    Choices(
        "loss_goes_on",
        {
            "it falls, as the training loss does": "That would need other digits to gain by what "
            "is learned about these 100.",
            "it stands still": "That would be right if nothing changed any more. The answers "
            "become ever more certain, the wrong ones too.",
            "it rises": "",
        },
        came="f'it ends {validation[-1] / min(validation):.1f} times as high as it was at best'",
    ),
    Choices(
        "weights_only",
        {
            "yes, to the bit": "That would be right if a step depended on the weights alone.",
            "yes, but for rounding": "That would need the same steps in another order of sums. "
            "These are other steps.",
            "no": "",
        },
        came="f'no: they differ by up to {distance(weights_only):.2g}'",
    ),
)
