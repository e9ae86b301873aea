"""A model server on loopback that plays a script: for rehearsals and tests that spend nothing and need no network.

It speaks Anthropic Messages, OpenAI Chat Completions and OpenAI Responses, streamed and not. Which step is played is
read off the conversation in the request, so retries, side requests, resumed sessions and parallel clients are safe.
"""

from steelyard.testing.scripted_model.script import Fault, Script, Scripts, Step, load_scripts, read_scripts
from steelyard.testing.scripted_model.server import Logged, ScriptedModel

__all__ = ["Fault", "Logged", "Script", "ScriptedModel", "Scripts", "Step", "load_scripts", "read_scripts"]
