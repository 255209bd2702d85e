"""Records of builds, and the files and sizes of one link."""

RECORD = "build.json"  # file name of the record in a build's folder
SUFFIX = ".link.json"  # of files with the record of a link
