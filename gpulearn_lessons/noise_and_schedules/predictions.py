"""What notebook 11 asks beforehand."""

from gpulearn.judge.prediction import Choices, Number

PREDICTIONS = (
    Choices(
        "from_the_ridge",
        {
            "at (0, 1), in a minimum": "That would need a slope along y, however small. On the "
            "ridge it is exactly zero.",
            "at (0, 0), on the saddle": "",
            "nowhere: it goes on for ever": "That would need a slope that never ends. Along x "
            "the ground is a plain parabola.",
        },
        came="'at (%.0f, %.0f)' % tuple(abs(paths['y = 0'].points[-1]))",
    ),
    Number(
        "hundred_times_closer",
        "",
        {
            98: "98 would be right if the wait did not depend on the distance.",
            196: "196 would be about right for 10⁻⁸: each hundredth adds 48 or 49 steps.",
            9800: "9,800 would need steps of equal length. They grow with the distance, by a "
            "tenth each.",
        },
        came="settled(close, -0.2)",
        within=0.05,
    ),
    Choices(
        "zero_weights",
        {
            "at (1, 1), where J is 0": "That would need a first step, and both slopes are zero "
            "at the start.",
            "at (0, 0), where they were": "",
            "far away: it explodes": "That would need a rate above a limit. Nothing moves at all.",
            "one at 1, the other at 0": "That would need something that tells one weight from "
            "the other. Their slopes are equal.",
        },
        came="f'at ({ends[0.0, 0.0][0]:g}, {ends[0.0, 0.0][1]:g})'",
    ),
    Choices(
        "shortens_the_wait",
        {
            "momentum": "That would need a slope that is not tiny at first: the velocity adds "
            "slopes up, and begins with a millionth.",
            "Adam": "",
            "noise of 0.01 on the gradient": "Noise puts the walk some thousandths beside the "
            "ridge at once. From there on it is as slow as the plain walk.",
        },
        came='f\'Adam {waits["adam_step"]}, momentum {waits["momentum_step"]}, \''
        "f'noise {waits[\"noisy_step\"]} steps'",
    ),
    Choices(
        "four_times_the_batch",
        {
            "it stays as it is": "That would need examples that all err in the same way. Errors "
            "of either sign cancel in part.",
            "it halves": "",
            "a quarter is left": "That would be right for the variance. The spread is its root.",
            "a sixteenth is left": "That would need errors that cancel each other on purpose. "
            "They cancel by chance, which is slow.",
        },
        came="f'{spreads[1][0]:.1f}, {spreads[4][0]:.1f}, {spreads[16][0]:.1f}, '"
        "f'{spreads[64][0]:.1f} for 1, 4, 16, 64'",
    ),
    Choices(
        "sgd_in_the_bowl",
        {
            "it stays at the lowest": "That would need a gradient of zero at the bottom. That of "
            "four measurements is not.",
            "it hops about above the lowest": "",
            "it falls on and on, but slowly": "That would need noise that becomes smaller by "
            "itself. It is as large at the bottom as anywhere.",
            "it grows: the noise adds up": "That would need a ground that does not lead back. "
            "The slope brings back what noise carries away.",
        },
        came="f'J − J* from {large.values[-300:].min() - lowest:.1g} to '"
        "f'{large.values[-300:].max() - lowest:.1g} in the last 300 steps'",
    ),
    Choices(
        "tenth_of_the_rate",
        {
            "where it lay: the noise is the same": "That would be right if steps had their length "
            "from the noise alone. It is multiplied by the rate.",
            "at about a third": "That is the root of a tenth: it would be right for the distance "
            "from the bottom, and J grows with its square.",
            "at a tenth or lower": "",
        },
        came="f'{floors[0.03]:.4f} after {floors[0.3]:.4f}'",
    ),
    Choices(
        "valley_too_long",
        {
            "staircase": "That would need a first third that is too short. It brings most of the "
            "sum of the rates.",
            "exponential": "Its sum is small, but large enough: it is 4.5 times as large as that "
            "of one over k.",
            "cosine": "That would be right if small rates at the end were the trouble. Its sum "
            "is large.",
            "one over k": "",
        },
        came="max((name for name in valley if name != 'constant'), key=lambda name: valley[name])",
    ),
    Choices(
        "end_of_the_range_test",
        {
            "well below 2/λmax": "That would need noise, or a second trouble. Below the limit "
            "every step shrinks the distance.",
            "at 2/λmax, at once": "That would need much of the distance in the steep direction "
            "to be left. It has to grow again first.",
            "at several times 2/λmax": "",
        },
        came="f'at {tried[-1] / edge:.1f} times 2/λmax'",
    ),
    Choices(
        "wrong_gradient",
        {
            "it grows from the first step": "That would need a gradient that points uphill. This "
            "one still points down, roughly.",
            "it falls, but not to the lowest": "",
            "it falls to the lowest, only later": "That would need the wrong slope to be zero "
            "where the right one is.",
        },
        came="f'from {path.values[0]:.0f} to {path.values[-1]:.1f}, the lowest is {lowest:.2f}'",
    ),
    Choices(
        "which_h",
        {
            "it falls and falls": "That would be right if numbers had no last digit. Two that "
            "are nearly equal lose their digits when subtracted.",
            "it falls, then grows again": "",
            "it stays: the formula is exact": "That would be right for a parabola. The "
            "exponential function bends in other ways as well.",
            "it grows all the time": "That would need a formula that is better for far "
            "neighbours than for near ones.",
        },
        came="f'least at h = {hs[np.argmin(errors[\"central\"][1])]:.0e}'",
    ),
    Choices(
        "four_basins",
        {
            "four quarters with straight borders": "That would need short steps everywhere. At "
            "the edges the first step is so long that it crosses an axis.",
            "stripes in the middle, quarters at the edges": "That would need long steps in the "
            "middle. It is at the edges that the slope is steep, and the first step long.",
            "quarters in the middle, stripes at the edges": "",
            "dots without order": "That would need neighbours that go different ways. In most "
            "places they go the same one.",
        },
        came="f'{np.mean(ours != quarters):.1%} end outside of their own quarter'",
    ),
    Choices(
        "minima_at_a_large_rate",
        {
            "all four, later": "That would be right below the smallest of the four limits, 0.015.",
            "all but minimum 2": "That would be right at 0.016: minimum 3 has a limit below "
            "0.02 as well.",
            "minima 0 and 1": "",
            "none": "That would need limits that all lie below 0.02.",
        },
        came='f\'{np.mean(maps["rate 0.02"] == 0):.0%}, {np.mean(maps["rate 0.02"] == 1):.0%}, \''
        'f\'{np.mean(maps["rate 0.02"] == 2):.1%} and {np.mean(maps["rate 0.02"] == 3):.1%} \''
        "'end in minima 0 to 3'",
    ),
    Choices(
        "starts_at_random",
        {
            "as many: the work is the same": "That would be right if each thread ran alone. A "
            "warp is done only when its slowest lane is.",
            "almost twice as many": "",
            "32 times as many": "That would need warps whose lanes work one at a time. Here a "
            "third of them works at once.",
        },
        came="'%.2f times as many' % (reports['at random'].totals.instructions "
        "/ reports['row by row'].totals.instructions)",
    ),
)
