"""Reports for a terminal: the same data as the pages, in lines."""

from auditor_client.report.audit_data import AuditData
from auditor_client.report.chain_data import ChainData
from auditor_client.report.comparison_data import ComparisonData
from auditor_client.report.figures import MetricSection, RateTable
from auditor_client.report.history_data import HistoryData
from auditor_client.report.mending_data import MendingData
from auditor_client.report.plan_data import PlanData
from auditor_client.report.rule_bars import RuleBars
from auditor_client.report.score_pictures import ScoreData
from auditor_client.report.strata_data import StrataData
from auditor_client.report.table_data import TablesData
from auditor_client.report.trained_scores_data import ScoreTable
from auditor_client.report.training_data import LeafLine, TrainingData
from auditor_client.rule_words import Condition


def audit_lines(report: AuditData) -> list[str]:
    """An audit in a few lines."""
    about = report.facts[2]  # how many people, or about which dataset
    lines = [report.heading, *report.outcomes, report.explanation, f"{about.term}: {about.text}"]
    if report.rehearsed:
        lines.insert(1, report.rehearsed)
    lines += ["This report does not say:", *(f"- {limit}" for limit in report.limits)]
    if report.direct_use:
        lines.append(report.direct_use)
    if report.reused:
        lines.append(report.reused)
    if report.joined:
        lines.append(report.joined)
    if report.looks:
        lines.append(report.looks)
    for section in report.sections:
        lines += _section_lines(section, report.level, titled=len(report.sections) > 1)
    if report.tables is not None:
        lines += _table_lines(report.tables)
    if report.strata is not None:
        lines += _strata_lines(report.strata)
    if report.chain is not None:
        lines += _chain_lines(report.chain)
    if report.scores is not None:
        lines += _score_lines(report.scores)
    if report.bars is not None:
        lines += _rule_lines(report.bars, report.level, report.level_by_itself)
    if report.no_bars:
        lines += ["", report.no_bars]
    lines += ["", report.subject.sentence, *(f"{fact.term}: {fact.text}" for fact in report.cost[:2])]
    if report.more is not None:
        lines.append(report.more.words)
    return [*lines, *(f"Warning: {warning}" for warning in report.warnings)]


def _section_lines(section: MetricSection, level: str, *, titled: bool) -> list[str]:
    lines = ["", section.words.title] if titled else [""]
    for table in section.rates:
        if len(section.rates) > 1:
            lines.append(f"  {table.words.name}:")
        lines += _rate_lines(table, level)
    lines.append("")
    for figure in section.figures:
        interval = f"  ({level}: {figure.interval})" if figure.interval else ""
        lines.append(f"  {figure.name}, {figure.definition}: {figure.value}{interval}")
        if figure.population:
            lines.append(f"    in the population: {figure.population}")
    lines += [f"  {sentence}" for sentence in section.judged]
    if section.unknown is not None:
        lines += ["", "  People whose group is unknown, by the factor in odds by which they may differ:"]
        lines += [
            f"  {row.factor:>10}  {row.worst} at worst, {row.best} at best  ({section.unknown.level}: {row.interval})  "
            f"{row.verdict}"
            for row in section.unknown.rows
        ]
    if section.misreported is not None:
        lines += ["", "  The ratio with the groups as recorded, and corrected with the study:"]
        lines += [
            f"  {row.name:<11}  {row.ratio}  ({section.misreported.level}: {row.interval})  {row.verdict}"
            for row in section.misreported.rows
        ]
    return lines + [
        f"  {', '.join(row.group)} against {', '.join(section.reference)}: ratio {row.ratio} ({row.ratio_interval}), "
        f"difference {row.difference} points ({row.difference_interval})"
        for row in section.comparisons
    ]


def _table_lines(data: TablesData) -> list[str]:
    lines = ["", *data.words]
    for table in data.tables:
        lines += ["", f"{table.title}: {table.heading}", *table.outcomes, *table.within]
        for section in table.sections:
            lines += _section_lines(section, table.level, titled=len(table.sections) > 1)
    return lines


def _strata_lines(data: StrataData) -> list[str]:
    lines: list[str] = []
    for section in data.sections:
        lines += ["", f"{section.title} within each value of “{data.column}”:"]
        width = max(len(row.name) for row in section.rows)
        for row in section.rows:
            interval = f"  ({data.level} together: {row.together})" if row.together else ""
            verdict = "" if row.verdict in ("none", "undefined") else f"  {row.verdict}"
            lines.append(f"  {row.name:<{width}}  {row.ratio:>9}{interval}{verdict}")
        lines += [section.conclusion] if section.conclusion else []
        lines += [
            " ".join([table.conclusion, *([table.left_out] if table.left_out else [])])
            for table in section.standardised
        ]
    return lines


def _chain_lines(chain: ChainData) -> list[str]:
    lines: list[str] = []
    for comparison in chain.comparisons:
        lines += ["", comparison.sentence, *([comparison.cause] if comparison.cause else [])]
        width = max(map(len, chain.stages))
        lines += [
            f"  {row.name:<{width}}  {row.ratio:>6}  {f'({chain.level}: {row.interval})' if row.interval else ''}"
            for row in comparison.rows
        ]
    for funnel in chain.funnels:
        lines += ["", f"  {funnel.group}: {funnel.people} ({funnel.people_interval})"]
        lines += [
            f"    {stage.name}: {stage.people} ({stage.people_interval}), {stage.rate} ({stage.rate_interval})"
            for stage in funnel.stages
        ]
    lines += ["", chain.contradicting] if chain.contradicting else []
    return [*lines, *chain.outcome_test]


def _score_lines(scores: ScoreData) -> list[str]:
    width = max(len(row.group) for row in scores.impact)
    lines = ["", scores.conclusion, f"{scores.impact_title}:"]
    lines += [
        f"  {row.group:<{width}}  {row.rate:>8}  {row.impact}  ({scores.level}: {row.interval})"
        for row in scores.impact
    ]
    if scores.auc:
        lines.append("How well the score separates (AUC):")
        lines += [f"  {group:<{width}}  {auc}  ({scores.level}: {interval})" for group, auc, interval in scores.auc]
    return lines


def _rate_lines(table: RateTable, level: str) -> list[str]:
    names = [", ".join(row.values) for row in table.rows]
    width = max(map(len, names), default=0)
    lines = []
    for name, row in zip(names, table.rows, strict=True):
        interval = f"  ({level}: {row.interval})" if row.interval else ""
        lines.append(f"  {name:<{width}}  {row.rate:>8}{interval}{f'  {row.note}' if row.note else ''}")
    return lines


def _rule_lines(bars: RuleBars, level: str, by_itself: str) -> list[str]:
    compared = f"the {bars.rate} of {bars.first} minus that of {bars.second}"
    lines = ["", f"Rules in the difference of {bars.difference} points, {compared}:"]
    width = max(len(bar.name) for bar in bars.bars)
    lines += [
        f"  {bar.number:>2}  {bar.name:<{width}}  {bar.share:>6} points  ({level}: {bar.interval})  "
        f"{_rules_text(bar.conditions)}"
        for bar in bars.bars
    ]
    lines.append(f"  {bars.conclusion}")
    if bars.flips:
        lines.append(f"The {bars.compared}, now {bars.ratio}, if one rule decided the other way:")
    width = max((len(flip.name) for flip in bars.flips), default=0)
    return lines + [
        f"  {flip.name:<{width}}  {flip.change:<9}  {flip.ratio}  ({by_itself}: {flip.interval})  {flip.verdict}"
        for flip in bars.flips
    ]


def _rules_text(rules: tuple[tuple[Condition, ...], ...]) -> str:
    return "; or ".join(" and ".join(map(str, conditions)) or "everybody" for conditions in rules)


def plan_lines(plan: PlanData) -> list[str]:
    """A planned audit in a few lines."""
    lines = [line for line in (plan.supposed, plan.headline, plan.strata, plan.joined) if line]
    lines += [*(f"{fact.term}: {fact.text}" for fact in plan.facts), "", plan.table_title]
    lines += [
        f"  {row.strategy:<8}  interval {row.width:>6.3f} wide  error {row.error:>6.3f}"
        f"{'  (chosen)' if row.strategy == plan.chosen else ''}"
        for row in plan.rows
    ]
    lines += [
        f"  {row.stage}: {row.passing} go on, interval {row.points} points wide, of the step's ratio {row.ratio}"
        for row in plan.steps
    ]
    if plan.unknown:
        lines += ["", "By the share of people whose group is unknown:"]
        lines += [
            f"  {row.share:>7}  {row.worst} at worst, {row.best} at best  (interval {row.interval})  a verdict in "
            f"{row.decided}"
            for row in plan.unknown
        ]
    if plan.misreported:
        lines += ["", "Corrected for wrongly recorded groups:"]
        lines += [
            f"  at {row.loss}: interval {row.width} wide, as recorded {row.recorded}  a verdict in {row.decided}"
            for row in plan.misreported
        ]
    if plan.knowing:
        width = max(len(row.words) for row in plan.knowing)
        lines += ["", "By what is known beforehand:"]
        lines += [
            f"  {row.words:<{width}}  interval {row.expected.width:>6.3f} wide  error {row.expected.error:>6.3f}"
            f"{'  (given)' if row.given else ''}"
            for row in plan.knowing
        ]
    if plan.tables:
        width = max(len(row.table) for row in plan.tables)
        lines += ["", plan.tables_title]
        lines += [
            f"  {row.table:<{width}}  {row.together:>7} instead of {row.separate}: {row.times}" for row in plan.tables
        ]
    if plan.looks:
        looks = [("look", "costs", "in all", "interval", "decided")]
        looks += [(str(row.number), row.step, row.together, row.width, row.decided) for row in plan.looks]
        lines += ["", plan.looks_title, *(f"  {a:>4}  {b:>12}  {c:>12}  {d:>8}  {e:>7}" for a, b, c, d, e in looks)]
    if plan.chances:
        rows = [("true ratio", "fails", "undecided", "meets")]
        rows += [(row.ratio, row.fails, row.undecided, row.meets) for row in plan.chances]
        lines += ["", plan.chances_title, *(f"  {a:>10}  {b:>5}  {c:>9}  {d:>5}" for a, b, c, d in rows), ""]
    curve = ", ".join(f"{point.width} at {plan.curve.symbol} = {point.amount}" for point in plan.curve.points)
    return [*lines, f"Width of the interval: {curve}.", plan.assumption, "Nothing was spent."]


def comparison_lines(comparison: ComparisonData) -> list[str]:
    """Two audits side by side in a few lines."""
    lines = [comparison.headline, ""]
    for row in comparison.figures:
        interval = f"  ({comparison.level}: {row.interval})" if row.interval else ""
        lines.append(f"  {row.name}: first {row.first}, second {row.second}, change {row.change}{interval}")
    facts = (f"{fact.term}: {fact.text}" for fact in comparison.facts)
    return [*lines, *comparison.tables, "", *facts, *comparison.notes]


def history_lines(history: HistoryData) -> list[str]:
    """Audits over time, one line for each metric."""
    if not history.rows and not history.trainings:
        return ["No audits are kept here.", *(f"{fact.term}: {fact.text}" for fact in history.facts)]
    rows = [
        f"{row.when}  {row.dataset} v{row.version}  by {row.by}  of {row.audited}  {row.outcome}  {row.metric}: "
        f"{row.ratio} {row.interval}  {row.verdict}  {row.cost}  receipt {row.receipt}"
        for row in history.rows
    ]
    rows += [
        f"{row.when}  {row.dataset} v{row.version}  trained by {row.algorithm} for {row.predicts}, fair by {row.by}  "
        f"wanted ratio: {row.wanted}  model {row.model}  {row.cost}  receipt {row.receipt}"
        f"{f'  audited: receipt {row.audits}' if row.audits else ''}"
        for row in history.trainings
    ]
    return [*rows, "", *(f"{fact.term}: {fact.text}" for fact in history.facts)]


def mending_lines(mending: MendingData) -> list[str]:
    """A relabelled tree: what changes, and the figures before and after."""
    lines = [mending.headline, mending.explanation, ""]
    for change in mending.changes:
        people = _people_text(mending.groups, change.people)
        lines.append(f"  {_leaf_text(change.conditions)}: {change.after} instead of {change.before}")
        lines.append(f"    decided wrongly {change.cost}; people: {people}")
    lines += [
        f"  {row.name}: {row.before} ({row.before_interval}) before, {row.after} ({row.after_interval}) after  "
        f"[{mending.level}]"
        for row in mending.figures
    ]
    return [*lines, "", mending.cost, *mending.notes]


def training_lines(training: TrainingData) -> list[str]:
    """A trained model: what it cost, its leaves, how fair and how accurate it is, and what an audit found of it."""
    lines = [training.headline, training.explanation, training.cost, ""]
    lines += [
        f"  {step.name}: ε = {step.epsilon} for {step.buys} (noise scale {step.noise})" for step in training.steps
    ]
    lines += [
        "",
        *(
            f"  {_leaf_text(leaf.conditions)}: {leaf.decides}"
            f"{f', {leaf.people} people' if leaf.people else ''}{_changed(leaf)}"
            for leaf in training.leaves
        ),
        *(_score_text(training.scores) if training.scores and not training.leaves else ()),
        "",
    ]
    lines += [f"  {row.name}: ratio {row.value} ({row.interval})  [{training.level}]" for row in training.bars]
    lines += [f"  {row.name}: accuracy {row.value} ({row.interval})  [{training.level}]" for row in training.figures]
    if training.audit is not None:
        lines += ["", f"Audited on {training.audit.title}: {training.audit.headline}"]
        lines += [f"  {row.name}: {row.value} ({row.interval})" for row in training.audit.figures]
        lines += [*(f"  {fact.term}: {fact.text}" for fact in training.audit.facts), training.total]
    return [*lines, "", *(f"Warning: {warning}" for warning in training.warnings), *training.notes]


def _score_text(scores: ScoreTable) -> list[str]:
    """A score by which a model decides: what everybody has, and what each value adds."""
    lines = [f"  {_leaf_text((line.conditions,))}: {', '.join(line.values)}" for line in scores.lines]
    return [*lines, f"  {scores.explanation}"]


def _leaf_text(rules: tuple[tuple[Condition, ...], ...]) -> str:
    return " or ".join(" and ".join(map(str, conditions)) or "everybody" for conditions in rules)


def _people_text(groups: tuple[str, ...], people: tuple[tuple[str, str], ...]) -> str:
    of_groups = zip(groups, people, strict=True)
    return "; ".join(f"{group} {value} ({interval})" for group, (value, interval) in of_groups)


def _changed(leaf: LeafLine) -> str:
    return f" (decided otherwise than it learned; wrongly {leaf.cost})" if leaf.changed else ""
