from .digits import Digits as Digits
from .measurements import spring as spring
from .text import Manual as Manual
from .text import manual as manual
