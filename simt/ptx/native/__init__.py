"""PTX as machine code of this computer, made by LLVM: launches of which only the result counts."""
