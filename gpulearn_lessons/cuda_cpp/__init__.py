"""The exercises of notebook 09: kernels in CUDA C++."""

NOTEBOOK = "09_cuda_cpp"
EXERCISES = (
    "saxpy_cpp",
    "launch_configuration",
    "transpose_cpp",
    "block_sum_cpp",
    "read_ptx",
)
