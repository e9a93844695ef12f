"""The exercises of notebook 22: programs that do not do what they say, each to be mended."""

NOTEBOOK = "22_broken_tutorials"
EXERCISES = (
    "case_launch",
    "case_blur",
    "case_histogram",
    "case_gpu_loop",
    "case_view",
    "case_constant_label",
    "case_schedule",
    "case_accumulation",
    "case_input_pipeline",
    "case_whole_program",
    "case_parameter_server",
    "case_mirrored_strategy",
    "case_reports",
)
