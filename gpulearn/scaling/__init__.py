"""How well more ranks pay: laws, measurements and models of training on many of them."""

from gpulearn import require

require.package("torch", "Training on ranks")
