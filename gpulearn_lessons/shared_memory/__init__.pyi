from .banks import bank_explorer as bank_explorer
