"""Programs that were written for a GPU, run on the SIMT machine as they are."""
