"""Files of the clip that is worked on, and saving to a data set."""

from typing import TYPE_CHECKING

from viser import Icon

from parc.studio.actions.film_files import FILMS
from parc.studio.document import Document
from parc.studio.panels.marked_text import add_markdown, marked

if TYPE_CHECKING:
    from parc.studio.studio_page import Page


class SavePanel:
    """The tab of files."""

    def __init__(self, page: "Page") -> None:
        self._page, gui = page, page.gui
        session = page.session
        with gui.add_folder("To a file"):
            kind = gui.add_dropdown("As", (".motion", ".pkl", ".bvh", ".glb"))
            self._export = gui.add_button("Download", icon=Icon.DOWNLOAD)
        with gui.add_folder("To look at"):
            self._replay = gui.add_button("Replay page (.html)", icon=Icon.WORLD_DOWNLOAD, hint="All open clips, offline")
            film_kind = gui.add_dropdown("Film as", FILMS)
            self._film = gui.add_button("Film", icon=Icon.MOVIE, hint="The clips on this ground, as a moving picture")
        with gui.add_folder("To a data set"):
            where = gui.add_text("Folder", session.save_places.offered, hint=f"Below {session.save_places}; made if new")
            every = gui.add_checkbox("All open clips", False)
            self._save = gui.add_button("Append", icon=Icon.DATABASE_PLUS)
        hint = marked("`parc studio --dataset DIR` lists a data set; what is appended to it shows up in the list.")
        add_markdown(gui, hint)

        def download() -> None:
            name, content = session.export(kind.value)
            page.client.send_file_download(name, content, save_immediately=True)
            page.tell("Exported", f"{name}, {len(content) / 1000:.0f} kB")

        def append() -> None:
            names = session.save_to(where.value, every.value)
            page.tell("Saved", f"{', '.join(names)} to {where.value}")
            page.clips.search()

        def replay() -> None:
            name, content = session.replay()
            page.client.send_file_download(name, content, save_immediately=True)
            page.tell("Exported", f"{name}, {len(content) / 1000:.0f} kB")

        def film() -> None:
            session.make.film(film_kind.value)
            page.job.refresh()

        self._replay.on_click(page.act(replay))
        self._film.on_click(page.act(film))
        self._export.on_click(page.act(download))
        self._save.on_click(page.act(append))

    def refresh(self, document: Document) -> None:
        self._export.disabled = self._film.disabled = document.clip is None
        self._replay.disabled = not document.clips
        self._save.disabled = not document.clips
