from .autograd import Variable as Variable
