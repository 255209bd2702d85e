"""Inference runtimes: one folder holds everything that is known of one of them.

Other rooms use the modules beside the folders, never the folders.
"""
