"""Is this a release? Builds it, installs it in clean environments, tries it there, and weighs it: `make release-check`.

    python tests/release_check.py                        with every Python 3.11 to 3.14 that is on the path or in pyenv
    python tests/release_check.py python3.12 /opt/python with these interpreters

The wheel is built from the source distribution, and installed with nothing but what it asks for.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
LARGEST = 65.0  # MB that pip downloads, with all dependencies
FENCED = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
WEIGH = """
import json
from importlib.metadata import distributions
from pathlib import Path
sizes = {}
for each in distributions():
    files = [Path(each.locate_file(file)) for file in each.files or ()]
    sizes[each.metadata["Name"]] = sum(file.stat().st_size for file in files if file.is_file())
print(json.dumps(sizes))
"""
STUDY = """
from ostinato import Float, Space, Study
study = Study("reaction", "lab.db", Space(temp=Float(20, 80, step=10)), budget=30, seed=0)
study.run(lambda candidate: -(candidate["temp"] - 50) ** 2, progress=False)
print(study.best().candidate["temp"])
"""
MEASURE = "import sys, random; print(-(float(sys.argv[1]) - 50) ** 2 + random.gauss(0, 1))"
TYPED = "from importlib.resources import files; print(files('ostinato').joinpath('py.typed').is_file())"


def main(interpreters: list[str]) -> None:
    """All of it; the first thing that is wrong ends it."""
    found = interpreters or [name for version in VERSIONS if (name := interpreter_of(version))]
    if not found:
        sys.exit("No Python 3.11 to 3.14 is on the path: name one.")
    with tempfile.TemporaryDirectory() as folder:
        wheel = built(Path(folder))
        for interpreter in found:
            tried(interpreter, wheel, Path(folder) / re.sub(r"\W", "-", interpreter))
        here = [said(each, "--version") for each in found]
        for version in VERSIONS:
            downloaded(version, wheel, Path(folder) / version, tried=any(f" {version}." in each for each in here))


def interpreter_of(version: str) -> str | None:
    """One of this version, on the path or among those of pyenv; None where there is none."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    kept = sorted(map(str, root.glob(f"versions/{version}.*/bin/python")))
    return next((each for each in (f"python{version}", *kept) if works(each)), None)


def works(interpreter: str) -> bool:
    """Whether it can be run: a shim of pyenv may be there without its version."""
    if shutil.which(interpreter) is None:
        return False
    return subprocess.run([interpreter, "--version"], capture_output=True, check=False).returncode == 0


def said(*command: object, cwd: Path | None = None) -> str:
    """What a command prints; that it ends with 0 is part of the check."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    call = [str(each) for each in command]
    done = subprocess.run(call, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(call)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def check(holds: bool, what: str) -> None:
    """One line of the protocol, or the end."""
    if not holds:
        sys.exit(f"wrong: {what}")
    print(f"  {what}")


def built(folder: Path) -> Path:
    """The wheel, built from the source distribution."""
    said(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    (wheel,), (source,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    version = re.search(r'__version__ = "(.*)"', (ROOT / "src/ostinato/__init__.py").read_text(encoding="utf-8"))
    print(f"{wheel.name} {wheel.stat().st_size / 1e6:.2f} MB, {source.name} {source.stat().st_size / 1e6:.2f} MB")
    check(version is not None and version[1] in wheel.name, "named for the version that the package says")
    names = zipfile.ZipFile(wheel).namelist()
    check("ostinato/py.typed" in names, "the wheel is typed (py.typed)")
    check(any(name.endswith("licenses/LICENSE") for name in names), "the wheel has the licence")
    strange = [name for name in names if not name.startswith(("ostinato/", f"ostinato-{version and version[1]}"))]
    check(not strange, "the wheel holds nothing but the package")
    with tarfile.open(source) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {"README.md", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "Makefile", "pyproject.toml"}
    check(inside >= wanted, "the source distribution has the files of the root")
    return wheel


def tried(interpreter: str, wheel: Path, folder: Path) -> None:
    """A clean environment, in which the wheel is installed and used as a newcomer does."""
    said(interpreter, "-m", "venv", folder)
    python, command, work = folder / "bin/python", folder / "bin/ostinato", folder / "work"
    work.mkdir()
    before = json.loads(said(python, "-c", WEIGH))
    said(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
    print(said(python, "--version").strip())
    installed = json.loads(said(python, "-c", WEIGH))
    sizes = {name: size / 1e6 for name, size in installed.items() if name not in before}
    total = sum(sizes.values())
    heaviest = sorted(sizes.items(), key=lambda each: -each[1])
    print("  " + ", ".join(f"{name} {size:.1f}" for name, size in heaviest if size >= 1) + " MB")
    use(python, command, work)
    print(f"  {total:.0f} MB on disk in {len(sizes)} packages, compiled modules included")


def downloaded(version: str, wheel: Path, folder: Path, *, tried: bool) -> None:
    """What pip fetches for a version of Python, which need not be here: there are wheels of everything."""
    pip = (sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--only-binary=:all:")
    said(*pip, "--python-version", version, "--dest", folder, wheel)
    size = sum(file.stat().st_size for file in folder.iterdir()) / 1e6
    print(f"Python {version}{'' if tried else ', which is not here: not tried'}")
    check(size <= LARGEST, f"{size:.1f} MB to download, of {LARGEST:g} at most: wheels of all dependencies")


def use(python: Path, command: Path, work: Path) -> None:
    """What a newcomer does first."""
    check("certificate" in said(command, "demo", "--budget", "2000"), "ostinato demo")
    check("sqlite" in said(command, "--version", "--verbose"), "ostinato --version --verbose")
    check(said(python, "-c", TYPED).strip() == "True", "types are found")
    examples = [match[3] for match in FENCED.finditer((ROOT / "README.md").read_text(encoding="utf-8"))]
    (work / "first.py").write_text(examples[0], encoding="utf-8")
    printed = said(python, "first.py", cwd=work)
    shown, real = (text.partition(":")[0] for text in (examples[1], printed))
    check(shown == real, "the first example of the README answers as it says")
    check(said(python, "-c", STUDY, cwd=work).strip() == "50.0", "a study in Python")
    (work / "measure.py").write_text(MEASURE, encoding="utf-8")
    (work / "oven.csv").write_text("temp\n40\n50\n60\n", encoding="utf-8")
    said(command, "optimize", "oven.csv", "--command", f"{python} measure.py {{temp}}", "--budget", "20", cwd=work)
    check("'temp': 50" in said(command, "best", "oven.db", cwd=work), "a study on the command line")
    check("well" in said(command, "verify", "oven.db", cwd=work), "which is well")


if __name__ == "__main__":
    main(sys.argv[1:])
