"""Weighing arms against each other: pure functions over run records.

What others use:

- `table.table_of(records) -> RecordTable` and `interop.records.read_records(paths)`: records as columns
- `arms.pick_arms(names, baseline, candidate) -> (baseline, candidate)`: refuses what is not clear
- `weigh.weigh(records_or_table, baseline, candidate, spec, min_repeats) -> Comparison`: the whole answer
- `power.plan_repeats(pilot, effect, power, alpha) -> RepeatPlan`, with `pilots.pilot_of(table, baseline, candidate,
  measure)` or `pilots.pilot_of_arm(table, arm, measure)`
- `aa.aa_check(table, arm, spec, min_repeats, splits) -> AaReport`: one arm against itself

Nothing here reads a file, a clock or a random source of its own: the same records give the same bytes.
"""
