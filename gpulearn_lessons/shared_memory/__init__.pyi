from .banks import BankRequest as BankRequest
from .banks import bank_explorer as bank_explorer
from .banks import bank_request as bank_request
