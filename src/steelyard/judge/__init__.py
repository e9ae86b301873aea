"""Language models that grade what programs cannot: as evidence, never as a gate, and without ever breaking a run.

What others build on:
- `base`: `Judge` (a part: `plugins.build("judges", spec)`), `Line` (`ask(request) -> Reply`, `close()`),
  `JudgeRequest`, `Reply`, `About`, `JudgeError`
- `request`: `build_request(evidence, about, secrets) -> JudgeRequest`, `request_of(bundle, about)`, `PROMPT_VERSION`
- `bundle`: `build_bundle(evidence, secrets) -> Bundle`
- `verdict`: `read_opinion(reply, request) -> Opinion`, or `Unreadable`
- `consult`: `consult(judge, line, request, around) -> JudgeResult`, `Surroundings` (clocks and waiting, from the edge)
- `jury`: `Jury(seats, env, around, opened)` with `judge(evidence, about, secrets)` and `decide(judges, request)`;
  `opened` may wrap a judge's line, for example in a cache
- `panel`: `combine(members, duration_s, scored_at)`, `votes(members)`
- `choose`: `Choice(name, model, env, note)` with `seats(spec)`: `--judge` and `--judge-model` against a suite's `judge`
"""
