from .roofline import gpu_points as gpu_points
