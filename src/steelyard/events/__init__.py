"""What goes out after a run is scored."""
