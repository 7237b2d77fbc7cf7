"""One plain sentence for each control of the page, shown when the mouse rests on it."""

from typing import Any

CONTROL_HINTS = {
    # above the tabs
    "Click does": "What a click in the view does; it changes with the tab",
    "Undo": "Takes the last change back (Ctrl Z)",
    "Redo": "Does again what was taken back (Ctrl Shift Z)",
    # Clips
    "Search": "Words of the name or the skill, in any order",
    "Clip": "Motions of the list",
    "Open": "Opens the motion that is named above",
    "Open a file": "A motion from a file of yours",
    "Work on": "The clip that edits, corrections and files are about",
    "Only this one": "Hides the other open clips",
    "Close it": "Takes this clip off the list of open ones; its file stays",
    "Name": "A new name for the clip",
    "Rename": "Gives the clip the name above",
    "Bodies show": "Orange where a body touches the ground, or red where it is inside the ground",
    "Contact dots": "A dot at each place that is touched during the motion",
    "Trails show": "Lines that body parts leave, coloured by how fast they move",
    "Trails of": "The body parts that leave lines",
    "Show all": "Moves the camera until all grounds and clips are in view",
    # Terrain
    "Amount, m": "How much a click raises or lowers",
    "Height, m": "Height that 'set height' gives",
    "Radius, cells": "Cells around the one that is clicked",
    "Kind": "What the new ground looks like",
    "Seed": "The same seed gives the same result",
    "Cells along x": "Length of the ground; a cell is 0.4 m",
    "Cells along y": "Width of the ground; a cell is 0.4 m",
    "How many": "Boxes, walks or steps",
    "Lowest, m": "Least height",
    "Highest, m": "Greatest height",
    "Rise, m": "Height of a step",
    "Make": "Replaces the ground by a new one",
    "Next seed": "Another ground of the same kind",
    "Cells": "Width of the border",
    "Add a border": "Makes the ground larger on all sides, at the heights of its edge",
    "Close narrow gaps": "Each cell takes the greatest height around it",
    "From cell": "First corner, counted from 0",
    "To cell": "Last corner; this cell is not part of it",
    "Box on these cells": "Gives these cells the height of the brush",
    "Crop to these cells": "Keeps these cells and drops the rest",
    "Random piece of that size": "Keeps a piece that is chosen at random",
    "Fit to the motion's contacts": "Builds ground under the places that hands and feet touch",
    "Cell, m": "Side of a cell of ground that is read from a file",
    "Black is, m": "Height of black in an image",
    "White is, m": "Height of white in an image",
    "Load .terrain, image or mesh": "Ground from a file of yours",
    "Save as": "Kind of file",
    "Download the ground": "Saves the ground that is shown as a file",
    # Path
    "Plan from start to goal": "Finds the easiest way between the two cells that were clicked",
    "Random path across": "Finds a way between two random cells near the edges",
    "Clear": "Removes the path, its start and its goal",
    "Make it the clip's path": "Stores this path with the clip",
    "Step up to, m": "Heights up to this are walked over",
    "Jump up to, m": "Longest jump",
    "Jump rises up to, m": "Highest landing above the take-off",
    "Jump falls up to, m": "Lowest landing below the take-off",
    "Jump clears, m": "Room that a jump leaves above the ground between",
    "Cliff from, m": "Heights from this on count as a cliff to jump over",
    "Corners to, m": "Cells that touch at a corner only are joined up to this height",
    "Distance costs": "Price of a metre along the ground",
    "Height costs": "Price of a metre up or down",
    "Random from": "Least random price of a step; random prices make paths differ",
    "Random to": "Greatest random price of a step",
    "Ends apart, m": "Least distance between the ends of a random path",
    "Load a path (.json)": "A path from a file of yours",
    "Download the path": "Saves the path as a file",
    # Edit
    "Frames": "The part of the clip that edits are about",
    "Frame shown is": "Makes the frame that is shown the first or last of this part, or takes the whole clip",
    "Fade, frames": "Frames over which a change fades in and out",
    "Cut to these frames": "Keeps this part of the clip only",
    "Mirror": "Exchanges left and right",
    "Followed by": "The open clip that is put after this one",
    "Blend, frames": "Frames over which one clip goes over into the next",
    "Stitch": "Puts the other clip after this one",
    "Stays within, m": "A pause is a stretch in which the body stays within this distance",
    "for, frames": "Shortest pause",
    "Remove pauses": "Takes out the frames in which the body only stands about",
    "x, m": "Moves the whole body",
    "y, m": "Moves the whole body",
    "z, m": "Moves the whole body up or down",
    "Turn, deg": "Turns the whole body",
    "Apply, and reset the sliders": "Keeps the change; the sliders start at zero for the next one",
    "Body": "The joint that is bent",
    "Angle 1, deg": "Bends the joint",
    "Angle 2, deg": "Bends the joint",
    "Angle 3, deg": "Bends the joint",
    "Body part": "The part whose contact is labelled",
    "Clicks label all chosen frames": "Otherwise a click labels the frame that is shown",
    "Touches": "Labels the body part as touching the ground in these frames",
    "Does not touch": "Takes the label away in these frames",
    "Found within, m": "A contact is nearer to the ground than this",
    "Slower than, m/s": "A contact moves more slowly than this",
    "Find contacts of hands and feet": "Labels contacts anew from distance and speed",
    # Measure
    "Curve 1": "What the first plot shows",
    "Curve 2": "What the second plot shows",
    # Make
    "Candidates": "Motions that are made at once",
    "Time limit, s": "Longest motion",
    "Denoising steps": "0: as many as the generator was trained with",
    "Blend": "How generated motion is blended with what came before",
    "Blend amount": "1 keeps what came before, 0 nothing of it",
    "Choices per window": "Samples of each half second, the best of which is kept",
    "Generate": "Makes motions along the path",
    "Look at": "The candidate that is shown in violet",
    "Keep it": "Makes this candidate a clip and drops the others",
    "Drop all": "Forgets the candidates",
    "Iterations": "Steps of the solver; more are slower and smoother",
    "Correct": "Makes a corrected copy of the clip",
    "Step size": "Of the solver (Adam)",
    "Out of the ground": "Weight: bodies leave the ground",
    "Onto contacts": "Weight: labelled hands and feet reach the ground",
    "Less jerk": "Weight: smoother motion",
    "No sliding": "Weight: what touches the ground stays in place",
    "Contacts held in place": "Weight: what touched before touches at the same place",
    "Smooth change": "Weight: the correction itself is smooth in time",
    "Bodies out of each other": "Weight: arms and legs leave the body",
    "Joints in their ranges": "Weight: joints bend as far as a person's",
    "Near the source": "Weight: the clip stays as it was",
    # Physics, Live, the bar
    "Simulate the clip": "A simulated character follows the clip; what it did becomes a new clip",
    "Stop": "Ends the work that is going on",
    # Save
    "As": "Kind of file",
    "Download": "Saves the clip as a file; .glb has the skinned mannequin, for Blender, Unity or Unreal",
    "Film as": ".mp4 for most programs; .webp and .gif for web pages",
    "Folder": "Folder of the data set; made if it is new",
    "All open clips": "Otherwise the clip that is worked on",
    "Append": "Adds to the data set in that folder",
}


def give_hints(gui: Any) -> list[str]:
    """Each control that has no sentence gets its own from the table; the labels for which there is none."""
    missing = []
    for control in list(gui._gui_input_handle_from_uuid.values()):
        if not hasattr(control, "hint") or control.hint:
            continue
        label = str(control.label)
        hint = CONTROL_HINTS.get(label) or CONTROL_HINTS.get(label.split(" (")[0])
        if hint is not None:
            control.hint = hint
        elif label != "script":
            missing.append(label)
    return missing
