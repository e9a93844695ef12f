"""What sections 4, 7 and 8 of notebook 21 ask beforehand."""

PREDICTIONS: tuple[object, ...] = ()
