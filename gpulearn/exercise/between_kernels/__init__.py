"""The exercises of notebook 08: streams, launches and fusion."""

NOTEBOOK = "08_streams_fusion_graphs"
EXERCISES = (
    "wait_for_event",
    "pipeline_copies",
    "launch_bound",
    "fused_normalise",
    "online_softmax",
)
