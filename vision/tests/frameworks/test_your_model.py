import re
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "tutorials" / "your_model.md"
SNIPPET = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def test_tutorial_draws_the_atlas_of_a_timm_model():
    names = {"__name__": "tutorial"}
    for number, snippet in enumerate(SNIPPET.findall(PAGE.read_text()), start=1):
        exec(compile(snippet, f"{PAGE.name}, snippet {number}", "exec"), names)  # noqa: S102 - our own page
    found = names["timm_atlas"]
    assert [choice.region for choice in found.regions] == ["V1", "IT"]
    assert all(score.score is not None for choice in found.regions for score in choice.scores)
    assert len(found.layers) > 3
