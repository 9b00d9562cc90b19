"""Rankings with honest uncertainty from pairwise judgments, by people or by language models.

The public names are resolved when they are first used, so that ``import bayesbt`` is quick and a statistician
with a file of human judgments never imports a language model.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bayesbt.agreement.agree import agree as agree
    from bayesbt.agreement.ensembles import compare_ensemble as compare_ensemble
    from bayesbt.agreement.ensembles import vote_of_judges as vote_of_judges
    from bayesbt.agreement.latent import latent_correlation as latent_correlation
    from bayesbt.agreement.posterior import posterior_metrics as posterior_metrics
    from bayesbt.agreement.reference import compare_with_reference as compare_with_reference
    from bayesbt.checking import check as check
    from bayesbt.counts import Counts as Counts
    from bayesbt.counts import count_judgments as count_judgments
    from bayesbt.errors import BayesBTError as BayesBTError
    from bayesbt.errors import StatisticalWarning as StatisticalWarning
    from bayesbt.formats import import_source as import_source
    from bayesbt.formats import read_items as read_items
    from bayesbt.formats import read_judgments as read_judgments
    from bayesbt.formats import read_pairs as read_pairs
    from bayesbt.formats import write_items as write_items
    from bayesbt.formats import write_judgments as write_judgments
    from bayesbt.formats import write_pairs as write_pairs
    from bayesbt.infer import Fit as Fit
    from bayesbt.infer import fit as fit
    from bayesbt.infer import load_fit as load_fit
    from bayesbt.infer.joint import fit_joint as fit_joint
    from bayesbt.judges.run import JudgeSettings as JudgeSettings
    from bayesbt.judges.run import judge as judge
    from bayesbt.pairing import design_pairs as design_pairs
    from bayesbt.ranking import Ranking as Ranking
    from bayesbt.ranking import contrast as contrast
    from bayesbt.ranking import rank as rank
    from bayesbt.reliability import split_half as split_half
    from bayesbt.reporting.report import report as report
    from bayesbt.spec import ModelSpec as ModelSpec
    from bayesbt.spec import Priors as Priors
    from bayesbt.stability import position_summary as position_summary
    from bayesbt.stability import run_agreement as run_agreement
    from bayesbt.study import run_study as run_study
    from bayesbt.tables import Items as Items
    from bayesbt.tables import Judgments as Judgments
    from bayesbt.tables import Pairs as Pairs
    from bayesbt.tie_comparison import compare_ties as compare_ties
    from bayesbt.voting import vote as vote

__version__ = "0.1.0"

#: Where each public name lives.
_HOMES = {
    "BayesBTError": "errors",
    "Counts": "counts",
    "Fit": "infer",
    "Items": "tables",
    "JudgeSettings": "judges.run",
    "Judgments": "tables",
    "ModelSpec": "spec",
    "Pairs": "tables",
    "Priors": "spec",
    "Ranking": "ranking",
    "StatisticalWarning": "errors",
    "agree": "agreement.agree",
    "check": "checking",
    "compare_ensemble": "agreement.ensembles",
    "compare_ties": "tie_comparison",
    "compare_with_reference": "agreement.reference",
    "contrast": "ranking",
    "count_judgments": "counts",
    "design_pairs": "pairing",
    "fit": "infer",
    "fit_joint": "infer.joint",
    "import_source": "formats",
    "judge": "judges.run",
    "latent_correlation": "agreement.latent",
    "load_fit": "infer",
    "position_summary": "stability",
    "posterior_metrics": "agreement.posterior",
    "rank": "ranking",
    "read_items": "formats",
    "read_judgments": "formats",
    "read_pairs": "formats",
    "report": "reporting.report",
    "run_agreement": "stability",
    "run_study": "study",
    "split_half": "reliability",
    "vote": "voting",
    "vote_of_judges": "agreement.ensembles",
    "write_items": "formats",
    "write_judgments": "formats",
    "write_pairs": "formats",
}

__all__ = [*_HOMES, "__version__"]


def __getattr__(name: str) -> Any:
    """Import a public name on its first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'bayesbt' has no attribute {name!r}")
    value = getattr(import_module(f"bayesbt.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
