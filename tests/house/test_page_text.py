"""The studio's page takes Markdown and HTML from one module only, and there every template stands in the source.

Otherwise a clip's name could become a script in the page.
"""

import ast
from pathlib import Path

STUDIO = Path(__file__).parents[2] / "src" / "parc" / "studio"
MARKUP = STUDIO / "panels" / "marked_text.py"
SCRIPTS = {
    "page_script.py: RunJavascriptMessage(_SCRIPT.read_text(encoding='utf-8'))",
    "page_script.py: RunJavascriptMessage(f'window.parcStudio.set({named})')",
    "page_script.py: RunJavascriptMessage(f'window.parcStudio.set({json.dumps(fresh)})')",
}
"""the only scripts that are sent: the package's own file, and numbers and truth values for it, which its module checks"""
SINKS = {"add_markdown", "add_html", "add_modal", "add_plotly", "add_3d_gui_container", "add_label"}
"""methods of viser whose text is, or might be, markup"""


def constant(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def unguarded(source: str) -> list[str]:
    """Calls and assignments by which text of others could become markup."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            method = isinstance(node.func, ast.Attribute)
            if (method and name in SINKS) or name == "Marked" or "Javascript" in name:
                found.append(ast.unparse(node))
            if name == "marked" and not (node.args and constant(node.args[0])):
                found.append(ast.unparse(node))
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
        if any(isinstance(target, ast.Attribute) and target.attr in ("content", "_icon_html") for target in targets):
            found.append(ast.unparse(node))
        if isinstance(node, ast.Constant) and node.value in ("content", *SINKS):
            found.append(f"the name '{node.value}', as if for setattr")
    return found


def test_all_markup_of_the_page_comes_from_templates() -> None:
    found = [
        f"{file.name}: {what}" for file in sorted(STUDIO.rglob("*.py")) if file != MARKUP for what in unguarded(file.read_text())
    ]
    assert set(found) >= SCRIPTS, "the one module that may send scripts"
    found = [what for what in found if what not in SCRIPTS]
    assert not found, "\n".join(found)
    assert unguarded(MARKUP.read_text()), "the one module that may"


def test_unguarded_text_is_told_from_marked() -> None:
    for line in (
        "gui.add_markdown(name)", "gui.add_markdown('ours')", "gui.add_html(f'{name}')", "title.content = name",
        "a.content += name",
        "marked(name)", "marked(f'**{name}**')", "marked('a' + name)", "Marked(name)", "setattr(title, 'content', name)",
        "getattr(gui, 'add_html')(name)", "RunJavascriptMessage(source=name)",
    ):  # fmt: skip
        assert unguarded(line), line
    for line in (
        "show(title, marked('**{}**', name))",
        "add_markdown(gui, marked('a' 'b'))",
        "upload.value.content",
        "content = 1",
    ):
        assert not unguarded(line), line
