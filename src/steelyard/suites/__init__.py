"""Suite files into records, with every mistake named at its line."""
