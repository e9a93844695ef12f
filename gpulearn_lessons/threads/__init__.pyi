from .thread_grids import thread_explorer as thread_explorer
