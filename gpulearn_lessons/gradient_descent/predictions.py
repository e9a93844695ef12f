"""What notebook 10 asks beforehand."""

from gpulearn.judge.prediction import Choices, Number

PREDICTIONS = (
    Choices(
        "lowest_of_five",
        {
            "lowest at 1, and zero": "At 1 the line lies below most of the points, and for zero "
            "all forty would have to lie on it.",
            "lowest at 1.5, and zero": "Zero would need all forty points on one line. Each is "
            "off by a little.",
            "lowest at 1.5, and above zero": "",
            "lowest at 3, the steepest": "That would need loads that stretch the spring twice as "
            "far. The line lies above all of them.",
        },
        came="f'J(1.5) = {loss(1.5):.2f}, J(1) = {loss(1):.2f}'",
    ),
    Choices(
        "lengths_of_steps",
        {
            "they stay equal, as the rate does": "That would need the same slope everywhere. The "
            "step is the rate times the slope.",
            "they grow, as when one runs downhill": "That would need a ground that gets steeper, "
            "or a walk that keeps its speed. This one forgets it.",
            "they become shorter, as the slope does": "",
        },
        came="f'six steps on, the slope of {slope(0):.1f} is {slope(theta):.1f}, the step with it'",
    ),
    Choices(
        "twenty_times_the_rate",
        {
            "it arrives in a twentieth of the steps": "That would need steps that stop at the "
            "bottom. A step does not know where that is.",
            "it jumps across, and comes nearer each time": "That would be right for smaller "
            "rates, such as 0.025.",
            "each step lands farther away": "",
        },
        came="f'θ = {walk(0.1)[1]:.0f}, {walk(0.1)[2]:.0f}, {walk(0.1)[3]:.0f}, …'",
    ),
    Choices(
        "arrives_first",
        {
            "0.1": "0.1 of the limit takes only a fifth of the distance off, in each step.",
            "0.4": "",
            "0.9": "0.9 of the limit lands on the other side, with four fifths of the distance.",
            "1": "At the limit each jump across is as long as the last: nothing is gained.",
            "1.1": "Above the limit each step ends farther away than it began.",
        },
        came="f'{min((0.1, 0.4, 0.9, 1, 1.1), key=lambda s: abs(walk(s * limit)[9] - bottom))}'",
    ),
    Choices(
        "just_below_the_limit",
        {
            "that at 0.05: its steps are shorter": "That would be right if long steps were steps "
            "forward. At 0.99 each takes back nearly all of the last.",
            "that at 0.99: it jumps to and fro": "",
            "neither: both arrive": "That would be right for a walk without end. After 60 steps "
            "they are far apart.",
        },
        came="f'left after 60 steps: {above[\"0.05 × limit\"][60]:.1g} at 0.05, '"
        "f'{above[\"0.99 × limit\"][60]:.1g} at 0.99'",
    ),
    Number(
        "ravine_100_steps",
        "cm",
        {
            12: "12 would need a flat direction that is as quick as the steep one.",
            10.8: "10.8 is 0.9 of the way. But 0.9 is the rate's share of its limit, and says "
            "nothing about the way.",
            0: "0 would need a slope of zero along θ₀.",
        },
        came="plain.points[100][0]",
        within=0.2,
    ),
    Choices(
        "kappa_by_scaling",
        {
            "from 0 to 1": "That would be right if small numbers were the point. They still lie "
            "on one side of zero, so that the ravine stays tilted.",
            "from the mean": "That takes the tilt away. The two curvatures still differ, by the "
            "variance of the loads.",
            "from the mean, in standard deviations": "",
            "all alike": "That would be right if κ did not depend on the unit, nor on where zero "
            "lies.",
        },
        came='f\'κ = {kappas["from 0 to 1"]:.1f}, {kappas["from the mean"]:.1f} and \''
        "f'{kappas[\"mean and std\"]:.1f}'",
    ),
    Choices(
        "momentum_on_a_slope",
        {
            "0.1, as without momentum": "That would be right for μ = 0, where nothing is kept.",
            "0.19": "0.19 is the second step. Of that 0.9 is kept, and 0.1 comes in again.",
            "1": "",
            "longer and longer, without end": "That would need μ = 1. With 0.9 a tenth of the "
            "velocity is lost in each step, which ends the growth.",
        },
        came="f'{lengths[-1]:.3g}'",
    ),
    Choices(
        "momentum_in_the_ravine",
        {
            "about 50: its steps are ten times as long": "That would be right along a slope that "
            "stays. Here the ball has to be slowed down at the bottom, too.",
            "100 to 150, about a quarter": "",
            "about 260, half as many": "That would be right if the steps were twice as long on "
            "average.",
            "more than 500: it overshoots": "It does overshoot. But across the ravine the zigzag "
            "cancels, and along it the ball is faster.",
        },
        came="f'{settled(ball, goal)} steps, after {settled(plain, goal)}'",
    ),
    Choices(
        "limit_with_momentum",
        {
            "less, about 0.2/λ: steps are ten times as long": "That would be right if velocities "
            "added up at the limit. There each step turns back, and they cancel.",
            "the same, 2/λ": "That would need a velocity that has no say in the jump across.",
            "more, nearly 4/λ": "",
        },
        came="f'about {highest:.1f}/λ'",
    ),
    Choices(
        "first_of_three_methods",
        {
            "2 and 12.5": "That is the plain step, 0.5 times the slope: it would need a divisor "
            "of 1.",
            "0.08 and 0.5: the steep direction gets more": "That would need one divisor for both, "
            "the larger slope. Each is divided by its own.",
            "0.5 and 0.5": "",
            "0.125 and 0.02: one over the slope": "That would be right if it was divided by the "
            "square of the slope. The root is taken first.",
        },
        came="f'{abs(after - point)[0]:.2g} and {abs(after - point)[1]:.2g}'",
    ),
    Number(
        "without_bias_correction",
        "times η",
        {
            1: "1 would need m and √v to be too small by the same factor.",
            0.1: "0.1 is how much too small m is. √v is too small as well, and it divides.",
            10: "10 would be right if √v was a hundredth of its size. The root of 0.001 is larger.",
            100: "100 is m's tenth over v's thousandth: the root is missing.",
        },
        came="abs(forgotten[0]) / 0.5",
        within=0.1,
    ),
    Choices(
        "race_in_the_ravines",
        {
            "Nesterov": "",
            "Adagrad": "That would need a ravine along an axis. A rate for each parameter can "
            "stretch the ground along the axes only.",
            "RMSProp": "That would need a rate that falls: near the bottom its steps stay as "
            "long as before.",
            "Adam": "Adam has momentum too, and comes near. But what it adds, a rate for each "
            "parameter, does not help across the axes.",
        },
        came="min((row for row in race.rows if row[2][0] != 'o'), "
        "key=lambda row: int(row[2].split()[0]))[0]",
    ),
    Choices(
        "decay_through_adam",
        {
            "that with large gradients": "That would need a decay that grows with the gradient. "
            "It is divided by √v, which is large here.",
            "that with small gradients": "",
            "both alike": "That would need a decay that is not divided by √v, as in AdamW.",
        },
        came='f\'{ends["adam_step"][0]:.2f} with large, {ends["adam_step"][1]:.2f} with small\'',
    ),
)
