"""The exercises of notebook 08: streams, launches and fusion."""

from gpulearn.lazy import attach

NOTEBOOK = "08_streams_fusion_graphs"
EXERCISES = (
    "wait_for_event",
    "pipeline_copies",
    "launch_bound",
    "fused_normalize",
    "online_softmax",
)

__getattr__, __dir__ = attach(__name__, __file__)
