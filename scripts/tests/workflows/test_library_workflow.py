"""Run `library.yml`: the required gate opens at once for a change of plugins only."""

OPEN_AT_ONCE = {"plan": "success", "rules": "skipped", "tests": "skipped", "gate": "success"}


def test_plugins_only_opens_the_library_gate_at_once(project, github):
    project.branch("change")
    project.change_model()
    project.commit()
    run = github.pull_request(workflow="library")
    assert run.results == OPEN_AT_ONCE, run.story
    assert "The gate is open, plugins only: models/network." in run.text
