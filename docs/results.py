"""Writes the tables of docs/results.md from the results beside it: python docs/results.py

Between <!-- table GROUP --> and <!-- end --> the page holds what docs/results/GROUP/summary.csv says, between
<!-- ratios GROUP --> and <!-- end --> what docs/results/GROUP/ratios.csv says; between <!-- outofthebox SET --> (or
loses, coverage, chances, sure in its place) and <!-- end --> what docs/results/outofthebox says of a set of problems.
"""

import csv
import re
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE / "results.md"
AHEAD = 1.0  # points by which another optimiser recommends better, from which it is listed
SEEDS = 10  # shared seeds from which an interval says something
FAMILIES = ("tables", "smooth", "rough")
OVERSURE = 0.1  # by how much less happened than was said, from which a problem is named


def page() -> str:
    """The page with its tables made anew."""
    text = PAGE.read_text(encoding="utf-8")
    makers = {
        "table": table,
        "ratios": ratios,
        "outofthebox": outofthebox,
        "loses": loses,
        "coverage": coverage,
        "chances": chances,
        "sure": sure,
    }
    return re.sub(
        rf"<!-- ({'|'.join(makers)}) (\S+) -->.*?<!-- end -->",
        lambda found: f"<!-- {found[1]} {found[2]} -->\n{makers[found[1]](found[2])}\n<!-- end -->",
        text,
        flags=re.DOTALL,
    )


def table(group: str) -> str:
    """Regret, simple regret, candidates, switches, rounds and seconds, a row an algorithm, for each problem."""
    parts: list[str] = []
    rows = _read(group, "summary.csv")
    for problem in dict.fromkeys(row["problem"] for row in rows):
        lines = [
            f"| {problem} | regret, % of uniform's | simple regret, % of random | candidates | switches | rounds h "
            "| seconds | seeds × length |",
            "|---|---|---|---|---|---|---|---|",
        ]
        lines += [
            f"| {row['algorithm']} | {_percent(row, 'regret', 1)} | {_percent(row, 'simple', 2)} "
            f"| {float(row['unique']):,.0f} | {float(row['switches']):,.0f} | {float(row['rounds']):,.0f} "
            f"| {float(row['seconds']):.2g} | {row['seeds']} × {int(row['t']):,} |"
            for row in rows
            if row["problem"] == problem
        ]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def ratios(group: str) -> str:
    """The mini algorithms, and a few others, over BBKB; simple regret as a difference, in percentage points."""
    lines = [
        "| problem | algorithm | regret | of mean regrets | simple regret, points | different candidates | switches "
        "| seconds |",
        "|---|---|---|---|---|---|---|---|",
    ]
    means = {(row["problem"], row["algorithm"]): float(row["regret"]) for row in _read(group, "summary.csv")}
    for row in _read(group, "ratios.csv"):
        if row["against"] == "BBKB" and row["algorithm"].startswith(("mini", "GP-UCB", "RS", "ε")):
            regret, *others = (f"{_times(row, name)}" for name in ("regret", "unique", "switches", "seconds"))
            of_means = means[row["problem"], row["algorithm"]] / means[row["problem"], "BBKB"]
            cells = (regret, f"{of_means:.2f}", _percent(row, "simple_difference", 2, "+"), *others)
            lines.append(f"| {row['problem']} | {row['algorithm']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def outofthebox(which: str) -> str:
    """Every optimiser's means over the problems, and how far behind ours it is; a table for each length."""
    parts: list[str] = []
    rows = sorted(_read("outofthebox", f"{which}.csv"), key=lambda row: float(row["recommended"]))
    for length in sorted({int(row["measurements"]) for row in rows}):
        lines = [
            f"{length:,} measurements:\n",
            "| optimiser | recommended | tables, smooth, rough | measured | switches | runs | behind `find` "
            "| behind `earn` |",
            "|---|---|---|---|---|---|---|---|",
        ]
        lines += [_standing(row) for row in rows if int(row["measurements"]) == length]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _standing(row: dict[str, str]) -> str:
    ours = row["optimizer"] in ("Ostinato find", "Ostinato earn")
    cells = [
        f"**{row['optimizer']}**" if ours else _short(row["optimizer"]),
        f"{float(row['recommended']):.1f}",
        ", ".join(f"{float(row[f'{each}_recommended']):.1f}" for each in FAMILIES),
        f"{float(row['measured']):.1f}",
        f"{float(row['switches']):,.0f}",
        row["runs"],
        _behind(row, "find"),
        _behind(row, "earn"),
    ]
    return f"| {' | '.join(cells)} |"


def loses(which: str) -> str:
    """Where others recommend better than `find`, problem by problem."""
    lines = ["| measurements | problem | recommends better than `find`, by points |", "|---|---|---|"]
    found: dict[tuple[int, str], list[tuple[float, str]]] = {}
    for row in _read("outofthebox", f"{which}_rivals.csv"):
        gap, low, high = (-float(row[f"behind_find{end}"]) for end in ("", "_high", "_low"))
        if gap >= AHEAD:
            enough = int(row["seeds"]) >= SEEDS
            interval = f" ({low:.1f} to {high:.1f})" if enough else f" ({row['seeds']} seeds)"
            text = f"{_short(row['rival'])} {gap:.1f}{interval}"
            found.setdefault((int(row["measurements"]), row["problem"]), []).append((gap, text))
    for (length, problem), rivals in sorted(found.items()):
        lines.append(f"| {length:,} | {problem} | {'; '.join(text for _, text in sorted(rivals, reverse=True))} |")
    return "\n".join(lines)


def _short(optimizer: str) -> str:
    return optimizer.replace(", 3 repeats", " × 3")


def _behind(row: dict[str, str], goal: str) -> str:
    gap, low, high = (float(row[f"behind_{goal}{end}"]) for end in ("", "_low", "_high"))
    return "" if row["optimizer"] == f"Ostinato {goal}" or gap != gap else f"{gap:+.1f} ({low:+.1f} to {high:+.1f})"


def coverage(which: str) -> str:
    """How often 90% intervals hold what is true."""
    lines = [
        "| optimiser | measurements | family | the recommended one | those measured | those never measured | runs |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in _read("outofthebox", f"{which}_coverage.csv"):
        cells = [f"{100 * float(row[what]):.0f}%" for what in ("recommended", "measured", "unmeasured")]
        lines.append(
            f"| {row['optimizer']} | {row['measurements']} | {row['family']} | {' | '.join(cells)} | {row['runs']} |"
        )
    return "\n".join(lines)


def chances(which: str) -> str:
    """What was claimed, and what happened, in every tenth of the claims."""
    lines = ["| optimiser | said / happened (claims), in tenths of what was said |", "|---|---|"]
    rows = _read("outofthebox", f"{which}_chances.csv")
    for optimizer in dict.fromkeys(row["optimizer"] for row in rows):
        cells = [
            f"{float(row['said']):.2f} / {float(row['happened']):.2f} ({row['claims']})"
            for row in rows
            if row["optimizer"] == optimizer
        ]
        lines.append(f"| {optimizer} | {', '.join(cells)} |")
    return "\n".join(lines)


def sure(which: str) -> str:
    """Of what was said with 0.8 and more, what happened, by family; and the problems where much less happened."""
    lines = [
        "| optimiser | measurements | family | said | happened | claims | problems more than 0.1 below what was said |",
        "|---|---|---|---|---|---|---|",
    ]
    rows = _read("outofthebox", f"{which}_sure.csv")
    for row in rows:
        if not row["problem"]:
            key = (row["optimizer"], row["measurements"], row["family"])
            own = [each for each in rows if (each["optimizer"], each["measurements"], each["family"]) == key]
            bad = [each for each in own if each["problem"] and _gap(each) > OVERSURE]
            named = "; ".join(
                f"{each['problem']} {float(each['said']):.2f}, {float(each['happened']):.2f} ({each['claims']})"
                for each in sorted(bad, key=_gap, reverse=True)
            )
            lines.append(
                f"| {row['optimizer']} | {int(row['measurements']):,} | {row['family']} | {float(row['said']):.2f} "
                f"| {float(row['happened']):.2f} | {row['claims']} | {named} |"
            )
    return "\n".join(lines)


def _gap(row: dict[str, str]) -> float:
    return float(row["said"]) - float(row["happened"])


def _percent(row: dict[str, str], name: str, digits: int, sign: str = "") -> str:
    """A share in percent with its 95% interval."""
    value, low, high = (100 * float(row[key]) for key in (name, f"{name}_low", f"{name}_high"))
    return f"{value:{sign}.{digits}f} ± {(high - low) / 2:.{digits}f}"


def _times(row: dict[str, str], name: str) -> str:
    value, low, high = (float(row[key]) for key in (name, f"{name}_low", f"{name}_high"))
    digits = 1 if value >= 10 else 2 if value >= 0.1 else 3
    return f"{value:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def _read(group: str, name: str) -> list[dict[str, str]]:
    with (HERE / "results" / group / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
