"""The pages of one experiment as a folder of files: the same pages, with links from file to file and no server."""
