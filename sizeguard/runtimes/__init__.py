"""Inference runtimes: one folder has everything about one runtime.

Other packages use the modules beside the folders, never the folders.
"""
