"""What this machine has: GPUs, driver, CPU; and which of them runs kernels."""
