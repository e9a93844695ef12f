"""Grading: whole folders of submissions, each answer run where it can forge nothing."""
