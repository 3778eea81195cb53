"""Writes the tables of docs/results.md from the results beside it: python docs/results.py

Between <!-- table GROUP --> and <!-- end --> the page holds what docs/results/GROUP/summary.csv says, between
<!-- ratios GROUP --> and <!-- end --> what docs/results/GROUP/ratios.csv says, and between <!-- rivals N --> (or
<!-- problems N -->) and <!-- end --> what docs/results/outofthebox says of N measurements; likewise
<!-- choice GROUP --> and <!-- coverage GROUP -->.
"""

import csv
import re
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE / "results.md"


def page() -> str:
    """The page with its tables made anew."""
    text = PAGE.read_text(encoding="utf-8")
    makers = {
        "table": table,
        "ratios": ratios,
        "rivals": rivals,
        "problems": problems,
        "choice": choice,
        "coverage": coverage,
    }
    return re.sub(
        r"<!-- (table|ratios|rivals|problems|choice|coverage) (\S+) -->.*?<!-- end -->",
        lambda found: f"<!-- {found[1]} {found[2]} -->\n{makers[found[1]](found[2])}\n<!-- end -->",
        text,
        flags=re.DOTALL,
    )


def table(group: str) -> str:
    """Regret as a share of uniform's, candidates, batches and seconds, a row an algorithm, for each problem."""
    parts: list[str] = []
    rows = _read(group, "summary.csv")
    for problem in dict.fromkeys(row["problem"] for row in rows):
        lines = [
            f"| {problem} | regret, % of uniform's | candidates | switches | rounds h | seconds | seeds × length |",
            "|---|---|---|---|---|---|---|",
        ]
        for row in (row for row in rows if row["problem"] == problem):
            half = (float(row["regret_high"]) - float(row["regret_low"])) / 2
            lines.append(
                f"| {row['algorithm']} | {100 * float(row['regret']):.1f} ± {100 * half:.1f} "
                f"| {float(row['unique']):.0f} | {float(row['switches']):,.0f} | {float(row['rounds']):,.0f} "
                f"| {float(row['seconds']):.2g} | {row['seeds']} × {int(row['t']):,} |"
            )
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def ratios(group: str) -> str:
    """The mini algorithms over BBKB: regret, different candidates, seconds."""
    lines = ["| problem | algorithm | regret | different candidates | seconds | seeds |", "|---|---|---|---|---|---|"]
    for row in _read(group, "ratios.csv"):
        if row["algorithm"].startswith(("mini", "GP-UCB", "ε")):
            cells = (f"{_times(row, name)}" for name in ("regret", "unique", "seconds"))
            lines.append(f"| {row['problem']} | {row['algorithm']} | {' | '.join(cells)} | {row['seeds']} |")
    return "\n".join(lines)


def choice(group: str) -> str:
    """How every rule that was tried did, on the problems by which the goals' policies were chosen."""
    lines = ["| rule | tables: recommended / measured / switches | functions: the same | seeds |", "|---|---|---|---|"]
    for row in _read(group, "choice.csv"):
        cells = (
            f"{float(row[f'{kind}_recommended']):.1f} ± {2 * float(row[f'{kind}_error']):.1f} / "
            f"{float(row[f'{kind}_measured']):.0f} / {float(row[f'{kind}_switches']):.0f}"
            for kind in ("tables", "functions")
        )
        rule = re.sub(r"cap_per_\w+=None, |Fixed\(value=([\d.]+)\)", r"\1", row["policy"])
        lines.append(f"| `{rule}` | {' | '.join(cells)} | {row['seeds']} |")
    return "\n".join(lines)


def coverage(group: str) -> str:
    """The share of 90% intervals that hold the truth."""
    lines = ["| problem | all candidates | those measured | the recommended one | seeds |", "|---|---|---|---|---|"]
    for row in _read(group, "coverage.csv"):
        cells = (f"{100 * float(row[what]):.0f}%" for what in ("all", "measured", "best"))
        lines.append(f"| {row['problem']} | {' | '.join(cells)} | {row['seeds']} |")
    return "\n".join(lines)


def rivals(at: str) -> str:
    """Every optimiser's means over the problems, and how it compares with ours."""
    lines = [
        "| optimiser | recommended | measured | switches | seconds | seeds | behind `find` on | behind `earn` on |",
        "|---|---|---|---|---|---|---|---|",
    ]
    rows = sorted(_read("outofthebox", f"overall_{at}.csv"), key=lambda row: float(row["recommended"]))
    problems = len({row["problem"] for row in _read("outofthebox", f"by_problem_{at}.csv")})
    for row in rows:
        ours = row["optimizer"].startswith("Ostinato") and "oracle" not in row["optimizer"]
        behind = ("", "") if ours else tuple(_behind(row, measure, problems) for measure in ("recommended", "regret"))
        name = f"**{row['optimizer']}**" if ours else row["optimizer"]
        lines.append(
            f"| {name} | {float(row['recommended']):.1f} | {float(row['regret']):.1f} | {float(row['switches']):,.0f} "
            f"| {float(row['seconds']):.2g} | {row['seeds']} | {behind[0]} | {behind[1]} |"
        )
    return "\n".join(lines)


def _behind(row: dict[str, str], measure: str, problems: int) -> str:
    """On how many problems, and by how much on average with its interval."""
    gap, half = float(row[f"{measure}_gap"]), float(row[f"{measure}_gap_half"])
    return f"{row[f'{measure}_ahead']} of {problems}, {gap:+.1f} ± {half:.1f}"


def problems(at: str) -> str:
    """Recommended and cumulative regret of every optimiser on every problem."""
    rows = _read("outofthebox", f"by_problem_{at}.csv")
    names = list(dict.fromkeys(row["optimizer"] for row in rows))
    lines = ["| problem | " + " | ".join(names) + " |", "|---|" + "---|" * len(names)]
    for problem in dict.fromkeys(row["problem"] for row in rows):
        own = {row["optimizer"]: row for row in rows if row["problem"] == problem}
        cells = [_cell(own.get(name)) for name in names]
        lines.append(f"| {problem} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(row: dict[str, str] | None) -> str:
    if row is None:
        return ""
    return f"{float(row['recommended']):.1f} ± {float(row['recommended_half']):.1f} / {float(row['regret']):.0f}"


def _times(row: dict[str, str], name: str) -> str:
    value, low, high = (float(row[key]) for key in (name, f"{name}_low", f"{name}_high"))
    digits = 1 if value >= 10 else 2 if value >= 0.1 else 3
    return f"{value:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def _read(group: str, name: str) -> list[dict[str, str]]:
    with (HERE / "results" / group / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
