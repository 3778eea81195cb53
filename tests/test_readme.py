"""The README's Python runs as it stands there, from top to bottom."""

import re
from pathlib import Path

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def test_the_readmes_code_runs(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some of it writes files
    blocks = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert len(blocks) >= 6
    namespace = {"__name__": "__main__"}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), namespace)
    printed = capsys.readouterr().out
    assert printed.partition(" (95%")[0] in README  # the result shown is the result printed


def test_the_readme_names_every_command_of_the_makefile():
    makefile = (Path(__file__).parent.parent / "Makefile").read_text(encoding="utf-8")
    for target in ("demo", "test", "check", "bench"):
        assert f"make {target}" in README
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE)
