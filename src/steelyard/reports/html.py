"""A comparison as one page: self-contained, offline, light and dark, on a screen and on paper.

Names come from record files and agents, so they are escaped by the template, and a content security policy lets
nothing run but the two scripts that are written here, and nothing be fetched at all.
"""

import base64
import hashlib
import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from steelyard.errors import InputError
from steelyard.reports.charts import MISSING, Chart, charts_of, javascript
from steelyard.reports.view import View

if TYPE_CHECKING:
    from jinja2 import Template

# `ast` makes Vega interpret its expressions: no code is made from text, so the policy needs no eval.
_DRAW = """(function () {
  "use strict";
  var specs = JSON.parse(document.getElementById("chart-specs").textContent);
  Object.keys(specs).forEach(function (key) {
    var figure = document.getElementById("chart-" + key);
    var place = figure.querySelector(".live");
    vegaEmbed(place, specs[key], {ast: true, renderer: "svg", actions: false, defaultStyle: false})
      .then(function () { figure.classList.add("drawn"); })
      .catch(function () { place.remove(); });
  });
})();"""


def render(view: View) -> str:
    """The whole page."""
    template = _template()
    charts = {chart.key: chart for chart in charts_of(view)}
    library = javascript().replace("</script", "<\\/script") if charts else ""
    scripts = [library, _DRAW] if charts else []
    return template.render(
        view=view,
        charts=charts,
        specs=_embedded(charts),
        library=library,
        draw=_DRAW,
        policy=" ".join(f"'sha256-{_sha256(script)}'" for script in scripts) or "'none'",
    )


def _embedded(charts: dict[str, Chart]) -> str:
    """The specifications as JSON that no text in it can end early."""
    text = json.dumps({key: chart.spec for key, chart in charts.items()}, sort_keys=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _sha256(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


@cache
def _template() -> "Template":
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError:
        raise InputError(MISSING) from None
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    folder = files("steelyard.reports") / "templates"
    environment.globals["style"] = (folder / "comparison.css").read_text("utf-8")
    return environment.from_string((folder / "comparison.html").read_text("utf-8"))
