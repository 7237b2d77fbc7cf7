"""Report pages in one file each: charts, tables, pictures, and motions to replay in the browser."""

from parc.report.replay_data import replay_payload
from parc.report.report_page import Report
from parc.report.svg_chart import bar_chart, line_chart

__all__ = ["Report", "bar_chart", "line_chart", "replay_payload"]
