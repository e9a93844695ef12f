from .autograd import Variable as Variable
from .transformer import Decoder as Decoder
from .transformer_costs import DecoderShape as DecoderShape
