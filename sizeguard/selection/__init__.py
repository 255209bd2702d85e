"""Selection files: the operators, dtypes, classes and features that a selective build keeps."""
