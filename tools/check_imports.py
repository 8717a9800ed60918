"""See that imports point one way, and that what is heavy is imported in one place.

    cli ─► service | figures ─► campaign | simulation ─► rules ─► core

Every import counts: those inside functions and under ``if TYPE_CHECKING:`` too, and
``import_module("...")`` with the name written out. A layer may import itself and all that is to
the right of it, but not its neighbour behind the bar. The package's own ``__init__.py`` may import
any layer; only the cli imports from it.

    python tools/check_imports.py [FOLDER OF THE PACKAGE, src/cutline unless said]

prints a line for each import that points the wrong way, and exits with 1 if there are any.
"""

import ast
import os
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = "cutline"

# Each layer, and what it may import besides itself; "" is the package's own __init__.py.
MAY_IMPORT: dict[str, set[str]] = {
    "_version": set(),
    "core": {"_version"},
    "rules": {"_version", "core"},
    "campaign": {"_version", "core", "rules"},
    "simulation": {"_version", "core", "rules"},
    "figures": {"_version", "core", "rules", "campaign", "simulation"},
    "service": {"_version", "core", "rules", "campaign", "simulation"},
    "testing": {"_version", "core", "rules", "campaign", "simulation"},
}
MAY_IMPORT[""] = {*MAY_IMPORT, "cli"}
MAY_IMPORT["cli"] = {*MAY_IMPORT}

# Libraries with a place of their own in the package, and that place; None: tests only.
HOMES = {
    "numba": ("simulation",),
    "llvmlite": ("simulation",),
    "matplotlib": ("figures", "draw"),
    "mpl_toolkits": ("figures", "draw"),
    "click": ("cli",),
    "rich": ("cli",),
    "apsw": ("campaign", "stores", "sqlite"),
    "psycopg": ("campaign", "stores", "postgres"),
    "scipy": None,
}


def place_of(module: str) -> tuple[str, ...]:
    """Where in the package a module is, its layer first.

    >>> place_of("cutline.rules.apt"), place_of("cutline.cli_tables"), place_of("cutline")
    (('rules', 'apt'), ('cli',), ('',))
    """
    layer, *rest = module.split(".")[1:] or [""]
    if layer.startswith("cli") or layer == "__main__":
        layer = "cli"
    return layer, *rest


def complaint(module: str, target: str) -> str | None:
    """What is wrong with `module` importing `target`, if anything is.

    >>> complaint("cutline.core.tally", "cutline.rules.apt")
    'core must not import rules'
    >>> complaint("cutline.figures.tables", "matplotlib.figure")
    'matplotlib is imported in figures.draw alone'
    """
    here = place_of(module)
    library = target.partition(".")[0]
    if library == PACKAGE:
        there = place_of(target)
        if there[0] == here[0] or there[0] in MAY_IMPORT[here[0]]:
            return None
        return f"{here[0] or PACKAGE} must not import {there[0] or f'from {PACKAGE}/__init__.py'}"
    home = HOMES.get(library, ())
    if home is None:
        return f"{library} is for tests alone"
    if here[: len(home)] != home:
        return f"{library} is imported in {'.'.join(home)} alone"
    return None


def imports(tree: ast.AST, package: str, root: Path) -> Iterator[tuple[int, str]]:
    """The line and the full name of each module that a file of `package` imports."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=base, names=names, level=level):
                above = package.split(".")[: 1 - level or None] if level else []
                origin = ".".join([*above, base] if base else above)
                for alias in names:
                    # `from cutline import rules` is the folder, `from cutline import APT` the root.
                    inside = origin == PACKAGE and (
                        (root / alias.name).is_dir() or (root / f"{alias.name}.py").is_file()
                    )
                    yield alias.lineno, f"{origin}.{alias.name}" if inside else origin
            case ast.Call(
                func=ast.Name(id="import_module" | "__import__")
                | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield node.lineno, f"{package}{name}" if name.startswith(".") else name


def violations(root: Path) -> Iterator[str]:
    """A line ``file:line: what is wrong`` for each import that points the wrong way."""
    for path in sorted(root.rglob("*.py")):
        parts = (PACKAGE, *path.relative_to(root).with_suffix("").parts)
        package = ".".join(parts[:-1])
        module = package if parts[-1] == "__init__" else ".".join(parts)
        if place_of(module)[0] not in MAY_IMPORT:
            yield f"{path}:1: {module} is in no layer: give it one in tools/check_imports.py"
            continue
        try:
            tree = ast.parse(path.read_bytes(), filename=str(path))
        except SyntaxError as error:
            yield f"{path}:{error.lineno}: cannot be read: {error.msg}"
            continue
        for line, target in sorted(set(imports(tree, package, root))):
            if said := complaint(module, target):
                yield f"{path}:{line}: {said} ({module} imports {target})"


def main(arguments: list[str]) -> int:
    ours = Path(os.path.relpath(Path(__file__).parents[1] / "src" / PACKAGE))
    root = Path(arguments[0]) if arguments else ours
    if not (root / "__init__.py").is_file():
        print(f"check_imports: {root} is not a package: it has no __init__.py", file=sys.stderr)
        return 2
    found = list(violations(root))
    if found:
        print(*found, sep="\n")
        print("imports point one way: cli > service|figures > campaign|simulation > rules > core")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
