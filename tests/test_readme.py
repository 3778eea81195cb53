"""The Python of the README and of the guide runs as it stands there, from top to bottom."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README, *OTHERS = (
    (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/guide.md", "docs/experiments.md")
)


@pytest.mark.filterwarnings("ignore::ostinato.errors.SuspiciousMeasurement")
def test_the_code_of_the_documents_runs(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some of it writes files
    namespace = {"__name__": "__main__"}
    for text in (README, *OTHERS):
        blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
        assert blocks
        for block in blocks:
            exec(compile(block, text.partition("\n")[0], "exec"), namespace)
        if text is README:
            assert capsys.readouterr().out.partition(" (95%")[0] in README  # the result shown is the result printed


def test_the_readme_is_short():
    assert len(README.splitlines()) < 160


def test_the_readme_names_every_command_of_the_makefile():
    makefile = (Path(__file__).parent.parent / "Makefile").read_text(encoding="utf-8")
    for target in ("demo", "test", "check", "bench"):
        assert f"make {target}" in README
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE)
