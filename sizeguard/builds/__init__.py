"""Records of builds, and the files and sizes of one link."""

RECORD = "build.json"  # the record's file in a build's folder
