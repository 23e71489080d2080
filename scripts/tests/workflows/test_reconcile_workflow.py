"""Run the reconciler on two pull requests by one author; only one may merge without review."""

import base64
import io
import json
import zipfile

from brainscore_ci.planning.plan import Plan
from brainscore_ci.reporting.results import CheckResult, PairResult, Results

from .conftest import git

AUTHOR, STRANGER = 583231, 42
METADATA = "access: public\nlicence: MIT\ncontact: '@me'\ncitation: Me (2026)\nowners: [{owner}]\n"
PORT = 8765
# Answers from a table and logs the requested changes.
SERVER = """
import base64, http.server, json, sys
table = json.load(open({table!r}))
class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self):
        length = int(self.headers.get("content-length") or 0)
        body = self.rfile.read(length).decode()
        if self.command != "GET":
            with open({log!r}, "a") as log:
                log.write(json.dumps([self.command, self.path, json.loads(body or "null")]) + chr(10))
        content = next((value for part, value in table if part in self.path), [])
        data = base64.b64decode(content) if isinstance(content, str) else json.dumps(content).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer
    def log_message(self, *_):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", {port}), Handler).serve_forever()
"""


def report(model, head):
    """Return the artifact of a run whose preview was scored in two boxes."""
    pair = PairResult(model=model, benchmark="Unrelated", status="scored", score=0.5, again=0.5)
    plan = Plan(base="b" * 40, head=head, event="pull_request", changed=("x",))
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("plan.json", plan.to_json())
        archive.writestr("results.json", Results(pairs=(pair,), check=CheckResult()).to_json())
    return base64.b64encode(data.getvalue()).decode()


def answers(heads):
    """Return (part of the address, answer) for pull requests 7 and 8 with green checks."""
    pulls, table = [], []
    for number, (model, head) in heads.items():
        repository = {"id": 1}
        pulls.append(
            {
                "number": number,
                "node_id": f"PR_{number}",
                "user": {"id": AUTHOR},
                "head": {"sha": head, "ref": model, "repo": repository},
                "labels": [],
            }
        )
        run = {
            "id": number, "run_number": number, "run_attempt": 1, "head_sha": head, "head_branch": model,
            "head_repository": repository, "event": "pull_request", "status": "completed", "conclusion": "success",
            "html_url": "https://github.com/lab/brain/actions/runs/1",
        }  # fmt: skip
        gates = [
            {"name": name, "app": {"slug": "github-actions"}, "conclusion": "success"}
            for name in ("gate", "library gate")
        ]
        table += [
            (f"runs?head_sha={head}", {"workflow_runs": [run]}),
            (f"/runs/{number}/artifacts", {"artifacts": [{"id": number, "name": "report", "size_in_bytes": 1}]}),
            (f"/artifacts/{number}/zip", report(model, head)),
            (f"/pulls/{number}/files", [{"filename": f"vision/brainscore_vision/models/{model}/model.py"}]),
            (f"/commits/{head}/check-runs", {"check_runs": gates}),
        ]
    return [("/pulls?state=open", pulls), *table, ("workflows/score.yml/runs", {"workflow_runs": []}), ("/graphql", {})]


def test_only_the_mergeable_pull_request_is_armed(project, github, tmp_path):
    switch = 'leaderboard = ["web"]\n\n[tool.brainscore.ci.merge]\nenabled = true'
    project.edit("pyproject.toml", 'leaderboard = ["web"]', switch)
    for model, owner in (("network", AUTHOR), ("pixels", STRANGER)):
        project.write(f"vision/brainscore_vision/models/{model}/metadata.yml", METADATA.format(owner=owner))
    main = project.commit("main")
    heads = {}
    for number, model in ((7, "network"), (8, "pixels")):
        project.branch(model)
        project.change_model(model)
        heads[number] = model, project.commit()
    git(project.path, "checkout", "-q", "main")
    github.publish(heads__main=main, **{f"pull__{number}__head": head for number, (_, head) in heads.items()})
    table, log = tmp_path / "table.json", tmp_path / "changes.jsonl"
    table.write_text(json.dumps(answers(heads)))
    server = SERVER.format(table=str(table), log=str(log), port=PORT)
    environment = {"GITHUB_API_URL": f"http://127.0.0.1:{PORT}"}
    run = github.dispatch("reconcile", main, secrets={"GITHUB_TOKEN": "t"}, environment=environment, beside=server)
    assert run.results == {"reconcile": "success", "merge": "success"}, run.story
    changes = [json.loads(line) for line in log.read_text().splitlines()]
    armed = [body["variables"] for _, path, body in changes if path == "/graphql"]
    assert armed == [{"id": "PR_7", "head": heads[7][1]}]
    comments = {path: body["body"] for method, path, body in changes if path.endswith("/comments")}
    assert "All conditions hold." in comments["/repos/lab/brain/issues/7/comments"]
    refused = comments["/repos/lab/brain/issues/8/comments"]
    assert "| the author owns every folder, as the target branch says | no: models/pixels |" in refused
