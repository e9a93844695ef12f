"""Training programs of notebook 22, each as it should have been."""
