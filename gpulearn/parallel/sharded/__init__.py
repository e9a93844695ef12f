"""sharded"""
