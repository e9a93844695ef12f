"""What notebook 12 asks beforehand."""

from gpulearn.judge.prediction import Choices, Number, below

PREDICTIONS = (
    Number(
        "loss_grows",
        "",
        {
            0.001: "0.001 would be right if each line passed a change on as it is. p = w·x and "
            "loss = e² do not.",
            0.003: "0.003 is by how much p, z and e grow. The loss is the square of e.",
            0.006: "0.006 would need 2 for the slope of the square; it is 2·e, and e is 2.",
            0.000009: "That is the square of 0.003: it would be right if e was 0 before.",
            0.004: "0.004 is the slope of the square, 4, without x, by which w is multiplied.",
        },
        came="e_new**2 - loss",
        within=0.02,
    ),
    Number(
        "shares_on_the_way",
        "",
        {
            12: "12 would need both shares that e is sent, 2 and 2. Look at what the innermost "
            "line does when the second one comes.",
            4: "4 is what e should get, before the product with x.",
            3: "3 would be right if 1 arrived at the product w·x.",
            24: "24 would be right if e was sent 4 by each of the two factors.",
        },
        came="float(found[w])",
    ),
    Number(
        "too_early",
        "",
        {
            24: "24 needs both shares of s, 3 and 1, before s passes anything on.",
            18: "18 would be right if the share from 3·s, which is 3, came first. It is the other "
            "one, 1, that has arrived.",
            3: "3 counts one of the two factors of a·a. Both are a.",
            1: "1 is what has arrived at s. It still has to pass through a·a, whose slope is 6.",
        },
        came="float(too_early[a])",
    ),
    Number(
        "passes_by_differences",
        "passes",
        {
            2: "2 would be right if all numbers were moved at once. Then nobody could say which "
            "of them changed the loss.",
            4810: "4,810 would be right if each number was moved up only, and the loss with none "
            "moved was known without a pass.",
            4811: "4,811 would be right if each number was moved up only, and held against one "
            "pass in which none is moved.",
            615680: "That would be a pass for each digit as well; all 64 go through at once.",
        },
        came="passes",
    ),
    Choices(
        "price_of_backward",
        {
            "as long as the forward pass": "That would need a backward pass that costs nothing. "
            "It has a product or two for each product of the forward pass.",
            "2 to 5 times as long": "That holds where each rule costs about as much as its "
            "operation, and nothing else on the machine was in the way.",
            "5 to 100 times as long": "That would need rules that cost many times their "
            "operation, or a machine that was busy during one of the two measurements.",
            "4,810 times as long": "That would be right if every parameter needed a walk of its "
            "own. One walk brings a share to each of them.",
        },
        came="f'{both / forward:.1f} times as long'",
        pick=below(
            {
                "as long as the forward pass": 1.3,
                "2 to 5 times as long": 5,
                "5 to 100 times as long": 100,
            },
            "4,810 times as long",
        ),
    ),
    Choices(
        "shape_of_the_weights",
        {
            "X·G": "X is (b, n) and G is (b, m): the sizes in the middle, n and b, do not fit.",
            "Xᵀ·G": "",
            "Gᵀ·X": "That is (m, n), the shape of Wᵀ.",
            "G·Xᵀ": "G is (b, m) and Xᵀ is (n, b): the sizes in the middle do not fit.",
        },
    ),
    Number(
        "square_shapes",
        "of them",
        {
            1: "1 would need shapes that tell the products apart. A product of two 3 × 3 matrices "
            "is 3 × 3 in any order.",
            2: "2 would need one product that is not 3 × 3.",
        },
        came="sum(one.shape == W.shape for one in tried.values())",
    ),
    Choices(
        "gradient_of_a_bias",
        {
            "G itself": "That has a row for each example. b has the shape (m,): one row for all.",
            "the mean of the rows of G": "That would be right if the loss was divided by the "
            "number of examples once more. The chain rule adds up.",
            "the sum of the rows of G": "",
            "ones, since a sum has the slope 1": "That leaves out what arrives: the slope of 1 "
            "multiplies G.",
        },
    ),
    Choices(
        "scores_of_1000",
        {
            "the same as of 2, 1 and 0": "That would be right on paper, where only the distances "
            "count. exp(1002) is beyond the largest float64, about 10³⁰⁸.",
            "1, 0 and 0": "That would need scores whose distances are large. They are 1 apart.",
            "one third each": "That would need distances that are lost in rounding. 1002 and 1001 "
            "are far enough apart for a float64.",
            "not a number": "",
        },
    ),
    Choices(
        "rate_of_2",
        {
            "it learns faster": "That would need steps that stay where the slope is a good guide. "
            "These are four times as large as one that works well.",
            "the loss explodes": "That would need a slope that grows with the distance, as on a "
            "parabola. That of cross-entropy, for a score, is never larger than 1.",
            "the loss stops, and stays where it is": "",
        },
    ),
    Choices(
        "sigmoids_in_a_row",
        {
            "about 4 times": "That is one sigmoid. There are ten of them in a row.",
            "about 40 times": "That would be right if the slopes were added. They are multiplied.",
            "about a million times": "That is about 4¹⁰: the slopes of ten sigmoids, multiplied.",
        },
        came="f'{fading[-1] / fading[0]:,.0f} times'",
        pick=below({"about 4 times": 13, "about 40 times": 6000}, "about a million times"),
    ),
    Choices(
        "a_way_round",
        {
            "still about a million times": "That would need all of the gradient to go through the "
            "sigmoids. A sum sends it round them as it is.",
            "about 1,000 times": "That would be half of the sigmoids. The way round leaves out "
            "all of them.",
            "less than 100 times": "",
        },
        came="f'{around[-1] / around[0]:,.0f} times'",
    ),
    Number(
        "shares_of_a_pixel",
        "shares",
        {
            1: "1 is right for a pixel in a corner, over which only one weight passes.",
            3: "3 would be right for a kernel that slides in one direction only.",
            4: "4 would be right if the kernel moved on by more than a pixel at a time.",
            36: "36 is what each weight of the kernel collects, one from each place.",
            64: "64 would be right in a dense layer with 64 outputs.",
        },
        came="int(uses[0, 0, 4, 4])",
    ),
    Choices(
        "products_of_all_work",
        {
            "about a third": "That would need additions and ReLUs as costly as a product. They "
            "take one operation for each number, a product 2,048.",
            "about 90 %": "That would be right for layers of some ten units.",
            "more than 99 %": "",
        },
        came="f'{products.flops / sum(work.flops for work in works):.2%}'",
    ),
    Choices(
        "kept_values",
        {
            "from 1 digit on": "That would need more numbers kept for a digit than there are "
            "weights. A unit has about a thousand weights, and keeps three numbers.",
            "between 64 and 256 digits": "",
            "beyond 1,024 digits": "That would need fewer than a thousand numbers for a digit. "
            "Each of the two hidden layers keeps three for each unit.",
            "never": "That would be right without a backward pass, which needs what the forward "
            "pass computed.",
        },
    ),
)
