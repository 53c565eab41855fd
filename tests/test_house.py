"""Rules of the house that no linter knows: sizes, docstrings, and words that must not appear."""

import ast
import re
import statistics
import tomllib
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest
import yaml

from correlator.model.names import SIGNALS, Events
from hypotheses._describe import reference

ROOT = Path(__file__).parents[1]
PACKAGES = ("benchmarks", "collector", "configs", "correlator", "exporters", "hypotheses")
FOLDERS = (*PACKAGES, "tests", "docs", ".ci")
RECORDED = ROOT / "tests" / "data"
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])


def joined(text: str) -> str:
    """Forbidden words are written here with a gap, so that this file does not contain them."""
    return text.replace("~", "")


FORBIDDEN = re.compile(
    joined(
        r"(?<![\w.])/wo~rk/|/tm~p/(v|vl|brief|stu~dio|bash_jobs)\b|/opt/whe~els|\bfar~m-(studio|bench)"
        r"|(?<!\w)\.(libra~ry|mir~ror)/|\bpy~pi\.org|pythonhos~ted|registry\.np~mjs|crat~es\.io"
    )
)


def walk(folder: Path) -> Iterator[Path]:
    """Regular files under a folder, without links and what tools leave behind."""
    for path in sorted(folder.iterdir()):
        if path.is_symlink() or path == RECORDED or path.name == "__pycache__":
            continue
        if path.is_dir():
            yield from walk(path)
        else:
            yield path


def modules(*folders: str) -> list[Path]:
    return [path for folder in folders for path in walk(ROOT / folder) if path.suffix == ".py"]


def ours() -> list[Path]:
    """Every file that belongs to the repository, except recordings and what a coverage run leaves."""
    top = [path for path in ROOT.iterdir() if path.is_file() and not path.name.startswith(".coverage")]
    return top + [path for folder in FOLDERS for path in walk(ROOT / folder)]


def targets() -> set[str]:
    """What `make help` lists."""
    return set(re.findall(r"^([a-z]+):.*## \S", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))


def hypothesis_ids() -> list[str]:
    return [path.stem for path in modules("hypotheses") if not path.name.startswith("_")]


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    tree = ast.parse(path.read_text())
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def lines(path: Path) -> int:
    return len(path.read_text().splitlines())


def size(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    assert function.end_lineno is not None
    return function.end_lineno - function.lineno + 1


def test_the_house_is_found() -> None:
    """Every package has modules, so that the rules below cannot pass on nothing."""
    assert [] == [package for package in PACKAGES if not modules(package)]


def test_no_file_is_too_long() -> None:
    """No Python file has more than 400 lines."""
    assert {} == {named(path): lines(path) for path in modules(*PACKAGES, "tests") if lines(path) > 400}


def test_a_hypothesis_is_short() -> None:
    """A claim takes at most 80 lines; machinery in files with an underscore may take more."""
    claims = [ROOT / "hypotheses" / f"{id_}.py" for id_ in hypothesis_ids()]
    assert {} == {named(path): lines(path) for path in claims if lines(path) > 80}


def test_most_functions_are_short() -> None:
    """Half of the functions have at most 15 lines, nine in ten at most 30."""
    sizes = [size(function) for path in modules(*PACKAGES) for function in functions(path)]
    tenths = statistics.quantiles(sizes, n=10)
    assert statistics.median(sizes) <= 15
    assert tenths[-1] <= 30


def test_every_module_says_what_it_is_for() -> None:
    """Every module, tests included, starts with a docstring."""
    parsed = {named(path): ast.parse(path.read_text()) for path in modules(*PACKAGES, "tests")}
    assert [] == [name for name, tree in parsed.items() if not ast.get_docstring(tree)]


def test_every_test_says_its_behaviour() -> None:
    """Every test function has a docstring."""
    tests = [(path, function) for path in modules("tests") for function in functions(path)]
    mute = [(path, f) for path, f in tests if f.name.startswith("test_") and not ast.get_docstring(f)]
    assert [] == [f"{named(path)}::{function.name}" for path, function in mute]


def test_nothing_names_the_machine_it_was_made_on() -> None:
    """No file names a path of a developer's machine, its tools or a registry's host."""
    contents = {named(path): path.read_text(encoding="utf-8", errors="replace") for path in ours()}
    assert {} == {name: found[0] for name, text in contents.items() if (found := FORBIDDEN.search(text))}


@pytest.mark.parametrize(
    "line",
    ["see /wo~rk/main", "/tm~p/v/venv", "the .libra~ry/search", "https://py~pi.org/simple", "far~m-studio"],
)
def test_the_forbidden_words_are_recognised(line: str) -> None:
    """The pattern of forbidden words finds what it is there for."""
    assert FORBIDDEN.search(joined(line))


@pytest.mark.parametrize("line", ["/home/me/net~work/x", "a frame~work/", "wo~rk/life", "/tm~p/vllm_dist"])
def test_ordinary_words_are_not_forbidden(line: str) -> None:
    """The pattern of forbidden words leaves ordinary paths alone."""
    assert not FORBIDDEN.search(joined(line))


@pytest.mark.parametrize("name", ["README", "CHANGELOG", "CONTRIBUTING", "DECISIONS"])
def test_papers_are_there(name: str) -> None:
    """The papers a newcomer looks for exist and are not empty."""
    assert (ROOT / f"{name}.md").read_text().strip()


def test_the_change_log_knows_the_version() -> None:
    """The version of the distribution has a section in the change log."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"\n## [{version}]" in (ROOT / "CHANGELOG.md").read_text()


def test_make_lists_its_targets() -> None:
    """Every target that is no file is explained by `make help`."""
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    assert phony
    assert set(phony[1].split()) == targets()


@pytest.mark.parametrize("page", PAGES)
def test_a_page_names_targets_of_make_that_exist(page: str) -> None:
    """Every `make` command in a page is one that make knows."""
    used = re.findall(r"(?:`|^ {4})make ([a-z]+)(?=[`\s])", (ROOT / page).read_text(), flags=re.MULTILINE)
    assert set() == set(used) - targets()


@pytest.mark.parametrize("page", PAGES)
def test_a_page_links_to_files_that_exist(page: str) -> None:
    """Every relative link and picture of a page leads to a file."""
    links = re.findall(r"\]\(([^)#\s]+)", (ROOT / page).read_text())
    files_named = [link for link in links if "://" not in link]
    assert [] == [link for link in files_named if not (ROOT / page).parent.joinpath(link).exists()]


def test_the_readme_names_files_and_targets() -> None:
    """The README has links and make commands at all, so that the rules above cannot pass on nothing."""
    text = (ROOT / "README.md").read_text()
    assert "](docs/user-guide.md)" in text
    assert "`make test`" in text


def test_the_reference_of_hypotheses_is_up_to_date() -> None:
    """The page of hypotheses is what `make docs` writes."""
    assert reference() + "\n" == (ROOT / "docs" / "hypotheses.md").read_text()


def test_every_hypothesis_is_in_the_reference() -> None:
    """Every file of a claim has its section in the page of hypotheses, and no other section is there."""
    page = (ROOT / "docs" / "hypotheses.md").read_text()
    assert hypothesis_ids() == sorted(re.findall(r"^## (\w+)$", page, flags=re.MULTILINE))


def test_how_to_measure_speaks_of_canonical_signals() -> None:
    """Every signal that we say how to switch on is one that we know; besides facts, witnesses and happenings."""
    told = yaml.safe_load((ROOT / "configs" / "how_to_measure.yaml").read_text())
    others = ["an instance that did not change", "engine", "gpu_faults", "kernel_log", Events.XID]
    assert others == sorted(set(told) - set(SIGNALS))


@pytest.mark.parametrize("lock", ["requirements.txt", "requirements-dev.txt"])
def test_locks_are_whole(lock: str) -> None:
    """Every locked requirement has an exact version and a hash, and no lock says where to download."""
    text = (ROOT / lock).read_text()
    entries = re.findall(r"^[^ #\n].*(?:\n .*)*", text, flags=re.MULTILINE)
    assert entries
    assert [] == [entry for entry in entries if not re.match(r"[\w.-]+==\S+.*\\\n +--hash=sha256:", entry)]
    assert not re.search(r"^-|://", text, flags=re.MULTILINE)


def test_the_demo_has_its_recording() -> None:
    """The recording that `tollens demo` diagnoses is found as package data."""
    demo = files("configs") / "demo"
    assert {"traces.jsonl.gz", "metrics.jsonl.gz", "logs.jsonl.gz", "vllm.log.gz", "scrape"} <= {
        entry.name for entry in demo.iterdir()
    }
