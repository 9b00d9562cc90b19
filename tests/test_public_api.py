"""The public names and their signatures: a change here is a change for every user."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import tomllib
from pathlib import Path

import pytest

import bayesbt

ROOT = Path(__file__).parent.parent
NAMES = [
    "BayesBTError",
    "Counts",
    "Fit",
    "Items",
    "JudgeSettings",
    "Judgments",
    "ModelSpec",
    "Pairs",
    "Priors",
    "Ranking",
    "StatisticalWarning",
    "agree",
    "check",
    "compare_ensemble",
    "compare_ties",
    "contrast",
    "compare_with_reference",
    "count_judgments",
    "design_pairs",
    "fit",
    "fit_joint",
    "import_source",
    "judge",
    "latent_correlation",
    "load_fit",
    "position_summary",
    "posterior_metrics",
    "rank",
    "read_items",
    "read_judgments",
    "read_pairs",
    "report",
    "run_agreement",
    "run_study",
    "split_half",
    "vote",
    "vote_of_judges",
    "write_items",
    "write_judgments",
    "write_pairs",
    "__version__",
]
SIGNATURES = {
    "agree": (
        "llm human *bootstrap *unit *label_identity *seed *metrics *engine *ties *order *rule *items "
        "*human_scores *argument_number *best *null_seeds *interval *ceiling *posterior *latent *progress "
        "**options"
    ),
    "check": "judgments items",
    "compare_ensemble": (
        "judgments human *metric *ties *engine *single_engine *leave_one_out *within *seed **options"
    ),
    "compare_ties": "judgments models *selection *unit *k *against *refit **options",
    "contrast": "fit first second",
    "compare_with_reference": "fit levels",
    "count_judgments": "judgments *items *dimension *judge *topic *by_judge *by_dimension *soft",
    "design_pairs": "items design *budget *degree *groups *both_orders *seed",
    "fit": (
        "judgments *ties *engine *order *judges *tie_parameter *covariates *priors *items *dimension *judge "
        "*topic *soft **options"
    ),
    "fit_joint": "judgments *engine *model *items *judge *topic *soft **options",
    "import_source": "path *format *mapping *outcomes *strict",
    "judge": "pairs items *settings *output *progress *force",
    "load_fit": "folder",
    "latent_correlation": "label_sets *ties *order *engine *dimension *priors *soft **options",
    "position_summary": "judgments interval",
    "posterior_metrics": "one other topics *seed *most *interval",
    "rank": "fit *top *tier_level *distribution *pairwise",
    "read_items": "path",
    "read_judgments": "path *format *mapping *outcomes *strict",
    "read_pairs": "path",
    "report": "data path *force",
    "run_agreement": "judgments",
    "run_study": "path *output *progress *force",
    "vote": "judgments rule",
    "split_half": "judgments *halves *seed *ties *order *interval *priors **selection",
    "vote_of_judges": "judgments weights rule",
    "write_items": "items path *force",
    "write_judgments": "judgments path *force",
    "write_pairs": "pairs path *force",
}
MARKS = {inspect.Parameter.KEYWORD_ONLY: "*", inspect.Parameter.VAR_KEYWORD: "**"}


def test_names() -> None:
    assert sorted(bayesbt.__all__) == sorted(NAMES)
    assert dir(bayesbt) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_each_name_resolves(name: str) -> None:
    value = getattr(bayesbt, name)
    assert value is getattr(bayesbt, name)
    assert name == "__version__" or value.__doc__


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'elo'"):
        _ = bayesbt.elo


@pytest.mark.parametrize("name", sorted(SIGNATURES))
def test_signature(name: str) -> None:
    parameters = inspect.signature(getattr(bayesbt, name)).parameters.values()
    assert " ".join(f"{MARKS.get(p.kind, '')}{p.name}" for p in parameters) == SIGNATURES[name]


def test_every_public_function_has_its_signature_frozen() -> None:
    functions = {name for name in NAMES if inspect.isfunction(getattr(bayesbt, name))}
    assert functions == set(SIGNATURES)


def test_extras_are_those_of_the_readme() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = ["all", "cuda", "debate", "dev", "judge", "nutpie", "ray", "served"]
    assert sorted(project["optional-dependencies"]) == extras
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(f"`[{extra}]`" in readme for extra in extras)
    assert project["scripts"] == {"bayesbt": "bayesbt.cli:main"}


def test_constraints_pin_everything_and_name_no_place() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert all("==" in pin.partition(";")[0] and "://" not in pin and not pin.startswith("-") for pin in pins)
    assert "torch==2.13.0" in pins
    assert not [pin for pin in pins if pin.startswith("nvidia")]


def modules_with_examples() -> list[str]:
    found = pkgutil.walk_packages([str(ROOT / "bayesbt")], "bayesbt.")
    paths = {
        module.name: ROOT / Path(*module.name.split(".")) for module in found if "__main__" not in module.name
    }
    files = {
        name: path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        for name, path in paths.items()
    }
    return sorted(name for name, file in files.items() if ">>> " in file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", modules_with_examples())
def test_examples_in_docstrings(name: str) -> None:
    tested = doctest.testmod(importlib.import_module(name))
    assert (tested.failed, tested.attempted > 0) == (0, True)
