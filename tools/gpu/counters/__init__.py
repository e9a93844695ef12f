"""The SIMT machine's counters beside Nsight Compute's, and the machine code that explains them."""
