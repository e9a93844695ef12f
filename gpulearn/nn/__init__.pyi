from .autograd import Variable as Variable
from .transformer import Decoder as Decoder
from .transformer import write as write
from .transformer_costs import DecoderShape as DecoderShape
