"""Selection files: which operators, dtypes, classes and features a selective build keeps."""
