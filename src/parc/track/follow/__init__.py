"""A policy follows references in simulation: whole clips (`runner`), or plans that are made while bodies run (`follower`).

Both step `tracked_bodies`, which read a `reference_table`, and come back as a `trace`; what counts as lost, fallen, broken or at
the end is in `outcome`.
"""
