"""The built-in suite that `steelyard demo` runs: four small tasks, three scripted arms."""
