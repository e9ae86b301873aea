"""Speed and memory, as ratios against a named peer or a floor that is measured in the same run."""
