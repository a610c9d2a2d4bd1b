"""Add to a run what is known later: tags, a note, a name, a project."""

import argparse

from jobmeter.cli import common
from jobmeter.cli.render import screen
from jobmeter.errors import UsageError
from jobmeter.model import text
from jobmeter.service import lifecycle, runs, shapes


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    common.add_run(parser)
    parser.add_argument("tags", metavar="K=V", nargs="*", help="set a tag; K- takes it off")
    parser.add_argument("--note", metavar="TEXT", help="add a sentence")
    parser.add_argument("--name", metavar="NAME", help="give the run another name")
    parser.add_argument("--project", metavar="NAME", help="put the run into another project")
    common.add_common(parser)


def main(args: argparse.Namespace) -> int:
    """Write what was given and show the tags the run has now."""
    home = common.home_of(args)
    tags = parse_tags(args.tags)
    # all that was said of one run goes to that run, whatever `last` is a moment later
    run = runs.find(home, args.run)
    ref = run.folder or run.run_id
    if tags:
        run = lifecycle.tag(home, ref, tags)
    if args.note is not None:
        run = lifecycle.note(home, ref, args.note)
    if args.name is not None:
        run = lifecycle.rename(home, ref, args.name)
    if args.project is not None:
        run = lifecycle.move_to_project(home, ref, args.project)
    if args.json:
        common.print_json(shapes.listed(run))
        return 0
    shown = [f"{key}={value}" for key, value in run.tags.items()]
    screen.standard_output().write("  ".join(text.clean(part) for part in (run.run_id, *shown)))
    return 0


def parse_tags(words: list[str]) -> dict[str, str | None]:
    """Read `K=V` and `K-`."""
    tags: dict[str, str | None] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if equals:
            tags[key] = value
        elif word.endswith("-") and len(word) > 1:
            tags[word[:-1]] = None
        else:
            raise UsageError(
                f"cannot read the tag {text.clean(word)}", hint="write K=V to set a tag, K- to take it off"
            )
    return tags
