"""Records of builds, and the files and sizes of one link."""

RECORD = "build.json"  # file name of the record in a build's folder
SHIPS = "also"  # folder, beside a gathered image, of the files that ship with it
LINK_SUFFIX = ".link.json"  # of the file with the record of a link
FULL = "full"  # folder of the full build, next to those of apps
