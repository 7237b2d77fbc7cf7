"""Clips from and to the files of other programs, and our own single-clip file."""

from parc.dataset.convert.clip_files import READABLE, WRITABLE, check_writable, load_clip, save_clip

__all__ = ["READABLE", "WRITABLE", "check_writable", "load_clip", "save_clip"]
