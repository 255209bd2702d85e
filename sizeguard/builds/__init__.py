"""Records of builds, and the files and sizes of one link."""

RECORD = "build.json"  # file name of the record in a build's folder
LINK_SUFFIX = ".link.json"  # of the file with the record of a link
