"""How well more ranks pay: laws, measurements and models of training on many of them."""

from gpulearn.lazy import attach

__getattr__, __dir__ = attach(__name__, __file__)
