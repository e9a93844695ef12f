from .recorded_roofline import gpu_points as gpu_points
