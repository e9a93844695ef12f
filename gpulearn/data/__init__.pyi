from .digits import Digits as Digits
