"""The runtime in native/: its code generator, importer and build.

names.yaml has the rules for its names.
"""
