"""Recipes for Slurm, Kubernetes and plain ssh, as files."""
