"""Every command in one row, the names it had before, and real examples for its help.

A new command is a dataclass in a module of this folder, one row of `COMMANDS`, and one or two of `EXAMPLES` (each is parsed by a
test). Modules are imported only when their command is called.
"""

from typing import NamedTuple


class Row(NamedTuple):
    """A command: its heading in `parc --help`, where it is, and what it does in a line."""

    group: str
    module: str
    command: str
    help: str


GROUPS = {
    "start": "to look around",
    "data": "terrain, paths and motions on disk",
    "train": "generators, trackers, and the loop of both",
    "make": "motions, planned and simulated",
    "measure": "how good they are",
    "more": "",
}

COMMANDS = {
    "demo": Row("start", "demo_command", "Demo", "the models in the box cross random boxes; a page replays it"),
    "studio": Row("start", "studio_command", "OpenStudio", "see, edit and make motions in the browser"),
    "live": Row("start", "live_command", "Live", "drive a simulated character that plans as it goes, and measure it"),
    "web": Row("start", "web_command", "BuildWeb", "a folder with a page: shape the ground, click a goal, no server needed"),
    "picture": Row("start", "picture_command", "Picture", "a clip as a picture, film strip, contact sheet, animation or page"),
    "terrain make flat": Row("data", "terrain_commands", "MakeFlat", "a flat grid"),
    "terrain make boxes": Row("data", "terrain_commands", "MakeBoxes", "random boxes (the paper's training terrains)"),
    "terrain make walks": Row("data", "terrain_commands", "MakeWalks", "random walks (the paper's test terrains)"),
    "terrain make platforms": Row("data", "terrain_commands", "MakePlatforms", "towers with gaps that only leaps can cross"),
    "terrain make stairs": Row("data", "terrain_commands", "MakeStairs", "a staircase"),
    "terrain make course": Row("data", "terrain_commands", "MakeCourse", "the 100 x 100 parkour park"),
    "terrain make slice": Row("data", "terrain_commands", "MakeSlice", "a random piece of a large terrain"),
    "terrain make from": Row("data", "terrain_commands", "MakeFrom", "from a grey image or a mesh"),
    "terrain show": Row("data", "terrain_commands", "ShowTerrain", "size, heights and a picture of a terrain"),
    "character show": Row("data", "character_command", "ShowCharacter", "what a body is made of, and what it is fit for"),
    "path": Row("data", "path_command", "PlanPath", "plan a route over a terrain"),
    "convert": Row("data", "convert_command", "Convert", "one motion file into another, by extension"),
    "dataset show": Row("data", "dataset_commands", "ShowDataset", "the clips of a data set, its card, a page of pictures"),
    "dataset build": Row("data", "build_commands", "Build", "clips on terrain from raw motion capture"),
    "dataset vary": Row("data", "build_commands", "Vary", "spatial variations: heights, gaps, headings, flight times"),
    "dataset author": Row("data", "author_command", "Author", "clips made by rule: climbs to 2 m, ways down, vaults, jumps"),
    "dataset hasten": Row("data", "hasten_command", "Hasten", "slow passages of clips played faster, flights untouched"),
    "dataset import": Row("data", "dataset_commands", "Import", "a folder of motion files into a data set"),
    "dataset merge": Row("data", "dataset_commands", "Merge", "several data sets into one"),
    "dataset extract": Row("data", "dataset_commands", "Extract", "one clip of a data set as a file"),
    "verify": Row("data", "verify_command", "Verify", "read every byte of a data set, model or run, compare hashes"),
    "loop": Row("train", "loop_commands", "Loop", "the whole of PARC: train, synthesise, track, record, and again"),
    "loop pack": Row("train", "pack_commands", "PackRun", "a run as one small file, to go on with on another machine"),
    "loop unpack": Row("train", "pack_commands", "UnpackRun", "a run out of such a file, every byte compared with its hash"),
    "release": Row("train", "release_command", "Release", "a finished run's models, motions and numbers, like the box"),
    "status": Row("train", "loop_commands", "Status", "where a run of the loop is, when it will end; its numbers elsewhere"),
    "train-generator": Row("train", "train_generator_commands", "TrainGenerator", "train the motion generator"),
    "train-tracker": Row("train", "train_tracker_commands", "TrainTracker", "train the tracking controller"),
    "train-tracker average": Row("train", "train_tracker_commands", "AverageTrackers", "average the weights of trackers"),
    "train-reflex": Row("train", "train_reflex_command", "TrainReflex", "train a tracker to cross without rehearsal"),
    "practise": Row("train", "train_generator_commands", "Practise", "train a generator on its own best motions too"),
    "traverse": Row("make", "traverse_command", "CrossTerrain", "cross a terrain in physics: plan, generate, simulate, retry"),
    "crowd": Row("make", "crowd_command", "Crowd", "many characters on one terrain, each with its goal, by reflex"),
    "generate": Row("make", "generate_commands", "Generate", "motion along a path over a terrain"),
    "correct": Row("make", "generate_commands", "Correct", "repair a motion: penetration, contact, jerk, sliding"),
    "synthesise": Row("make", "generate_commands", "Synthesise", "new clips: terrain, path, generate, select, correct"),
    "track": Row("make", "track_command", "Track", "a simulated character follows a motion"),
    "record": Row("make", "record_command", "Record", "physics-corrected clips of a data set"),
    "record-reflex": Row("make", "record_reflex_command", "RecordReflex", "futures that hold, from states on the way, as clips"),
    "export mjcf": Row("make", "export_commands", "ExportMjcf", "a character on a terrain for MuJoCo"),
    "export onnx": Row("make", "export_commands", "ExportOnnx", "generator and tracker for browsers, game engines and robots"),
    "metrics": Row("measure", "metrics_command", "Metrics", "measure clips: TPL, TCL, HJF, FWD, skate, floating, ..."),
    "evaluate": Row("measure", "evaluate_commands", "Evaluate", "the paper's tables for a run or for models, as a page"),
    "evaluate generator": Row("measure", "evaluate_commands", "EvaluateGenerator", "generators on a set of terrains (Table 1)"),
    "evaluate tracker": Row(
        "measure", "evaluate_commands", "EvaluateTracker", "trackers on generated motions (Table 2) or clips"
    ),
    "evaluate blending": Row("measure", "evaluate_commands", "EvaluateBlending", "the blending sweep (Table 3)"),
    "evaluate reflex": Row("measure", "evaluate_reflex_command", "EvaluateReflex", "share of terrains crossed without rehearsal"),
    "evaluate traverse": Row("measure", "evaluate_traverse_command", "EvaluateTraverse", "share of terrains crossed in physics"),
    "completion": Row("more", "completion_command", "Completion", "a script that completes commands and options in a shell"),
}

OLD_COMMANDS = {
    "average-trackers": "`parc train-tracker average`",
    "bench": "`python benchmarks/run.py` in a checkout of parc",
    "course": "`parc traverse course --preset course`",
    "dataset card": "`parc dataset show DATASET --card FILE`",
    "dataset label-check": "`python tools/label_check.py` in a checkout of parc",
    "dataset page": "`parc dataset show DATASET --page FILE`",
    "logs": "`parc status RUN --tensorboard FOLDER` or --wandb PROJECT",
    "strips": "`parc picture CLIPS -o PAGE.html`",
}
"""what has another name since 0.3.0"""

OLD_OPTIONS = {
    ("", "--policy"): "--tracker",
    ("", "--sampler"): "--preset",
    ("", "--quick"): "--preset quick",
    ("", "--skills"): "--skill",
    ("generate", "--batch"): "--candidates",
    ("", "--batch"): "--step.batch",
    ("evaluate", "--limit"): "--generator.limits",
    ("evaluate", "--count"): "--terrains",
    ("evaluate", "--blend"): "--generator.rollout.blend.start and .end",
    ("traverse", "--blend"): "--method.rollout.blend.start and .end",
    ("generate", "--blend"): "--rollout.blend.start and .end",
    ("traverse", "--method"): "--preset",
    ("traverse", "--correct"): "--method.optimise.iterations (with --preset plain)",
    ("track", "--start"): "--start-time",
    ("picture", "--start"): "--start-time",
    ("picture", "--stop"): "--stop-time",
    ("practise", "--terrains-per-unit"): "--synthesis.terrains-per-unit",
    ("synthesise", "--iterations"): "--optimise.iterations",
    ("record", "--salvage"): "--stretch.salvage",
    ("record", "--no-salvage"): "--stretch.no-salvage",
    ("dataset", "--clips"): "--only",
    ("live", "--period"): "--pilot.period",
    ("live", "--rehearse"): "--pilot.rehearse",
    ("live", "--no-rehearse"): "--pilot.no-rehearse",
    ("dataset", "--iterations"): "--solve.iterations or --vary.refine.fit.iterations",
}
"""(first word of a command or "" for any, option): its name since 0.3.0; names that only moved into a group need no row"""
