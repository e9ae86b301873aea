"""The built-in suite that `steelyard demo` runs: five small tasks, three scripted arms."""
