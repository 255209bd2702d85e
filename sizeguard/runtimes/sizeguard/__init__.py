"""Our own runtime, in native/: names.yaml has the rules for its names.

Its code generator, importer and build are here, too.
"""
