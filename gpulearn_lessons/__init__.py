"""gpulearn_lessons"""
