"""Every command of `entity-tui`; without one, the interface. Commands load only when they are asked for."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from typing import Any

import click

from entity_tui import __version__
from entity_tui.errors import EntityError

INTERRUPTED = 130
"""Exit code after ctrl+c, as shells expect."""

COMMANDS: dict[str, tuple[str, str]] = {
    # name: (module, one line of help). The help stands here so that --help imports nothing.
    "backends": ("backends", "CPU or GPU?"),
    "bench": ("bench", "Run the ablation (or a plan of your own) on the device."),
    "chat": ("chat", "Talk to a model that runs on the device."),
    "clean": ("clean", "Remove what entity-tui left on a device."),
    "compare": ("compare", "Is B better than A? Two engines, models or flags."),
    "completion": ("completion", "Print the completion script for a shell."),
    "config": ("config", "Show, check and describe the settings."),
    "context": ("context", "The context window a model gets, without a phone."),
    "devices": ("devices", "List the phones that can be reached."),
    "devicetree": ("devicetree", "Apply every width rule to an SoC nobody owns."),
    "doctor": ("doctor", "Check this computer and the device, and say what to do."),
    "engine": ("engine", "Find, install and check llama.cpp on the device."),
    "equivalence": ("equivalence", "Does scheduling change the answer?"),
    "guard": ("guard", "Does backing off pay?"),
    "history": ("history", "List, compare and export what was measured."),
    "import": ("import_runs", "Take in results of other tools."),
    "isa-ladder": ("isa_ladder", "What is each CPU backend variant worth?"),
    "kernels": ("kernels", "What do repack and KleidiAI earn?"),
    "kv-restore": ("kv_restore", "What does a saved conversation save?"),
    "measure": ("measure", "Measure any other engine by its own command line."),
    "models": ("models", "What is in a model file, and which ones the device has."),
    "monitor": ("monitor", "Stream what the device measures of itself."),
    "observer": ("observer", "What does the instrument cost?"),
    "pair": ("pair", "Pair a phone over Wi-Fi, by code or QR."),
    "placement": ("placement", "Should threads be pinned on this device?"),
    "portability": ("portability", "Which mechanisms this target really exposes."),
    "predict": ("predict", "How fast will a model be, before it is there?"),
    "presets": ("presets", "Thread and mask presets for llama.cpp and other runtimes."),
    "reanalyse": ("reanalyse", "Rebuild every table and verdict from the raw record."),
    "report": ("report", "One self-contained page about a run."),
    "run": ("run", "Attach to, stop or collect a run that is on the device."),
    "serve": ("serve", "An OpenAI-compatible address for the device's model."),
    "sim": ("sim", "Start or steer a simulated phone."),
    "snapshot": ("snapshot", "Save everything the device says of itself to a file."),
    "states": ("states", "Every way a cell can end, and what to do about it."),
    "sustained": ("sustained", "What is left after minutes?"),
    "sweep": ("sweep", "Which decode width?"),
    "topology": ("topology", "Cores, clusters, widths and masks."),
    "tour": ("tour", "The whole story without a terminal: topology, variants, monitor, a quick ablation, CSV."),
    "variants": ("variants", "Which CPU backend variants can run here, and which will."),
}


def take_user_profiles() -> None:
    """Lay the user's own profiles (chips, presets, runtimes, thresholds) over the shipped ones, if there are any."""
    from entity_tui.config import config_folder

    folder = config_folder() / "profiles"
    if folder.is_dir():
        from entity_tui.profiles.library import add_user_folder

        add_user_folder(folder)


class LazyGroup(click.Group):
    """A group whose commands live in `entity_tui.commands` and are imported when named."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in alphabetical order."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command object, or None for an unknown name."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"entity_tui.commands.{COMMANDS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Help without importing a single command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in self.list_commands(ctx)])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with the nearest names where there is no such command."""
        name = args[0] if args else ""
        if name and name not in COMMANDS and not name.startswith("-"):
            import difflib

            near = difflib.get_close_matches(name, COMMANDS, n=3)
            hint = f" Did you mean {', '.join(near)}?" if near else ""
            ctx.fail(f"No such command {name!r}.{hint}")
        return super().resolve_command(ctx, args)


@click.group(cls=LazyGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--device", metavar="NAME", help="adb:SERIAL, ssh:[user@]host[:port], local, demo[:profile], or a remembered name."
)
@click.option(
    "--snapshot", metavar="FILE", type=click.Path(dir_okay=False), help="Show a saved snapshot instead of a device."
)
@click.option("--demo", is_flag=True, help="The same as --device demo.")
@click.option(
    "--screen",
    type=click.Choice(["picker", "dashboard", "chat", "bench", "placement", "models", "history"]),
    help="The screen to open.",
)
@click.option("--theme", metavar="NAME", help="entity-dark, entity-light, ansi, or a theme of Textual.")
@click.option("--ascii", "ascii_only", is_flag=True, help="Only ASCII characters.")
@click.option("--no-color", is_flag=True, help="One colour; bold and reverse carry the state.")
@click.option("--reduced-motion", is_flag=True, help="Update once a second, no smooth scrolling.")
@click.option("--no-mouse", is_flag=True, help="Leave the mouse to the terminal.")
@click.option("--read-only", is_flag=True, help="Look, never run: no bench, no push, no delete.")
@click.option("--speed", type=click.FloatRange(1.0, 1000.0), default=None, help="Clock factor of a demo phone.")
@click.version_option(__version__, prog_name="entity-tui")
@click.pass_context
def cli(ctx: click.Context, /, **options: Any) -> None:
    """See what a phone is, which kernels run on it, how hot it gets, and what each change is worth.

    Without a command the interface opens. Every screen has a command that prints the same numbers.
    """
    take_user_profiles()
    if ctx.invoked_subcommand is not None:
        return
    from entity_tui.start import open_interface

    ctx.exit(open_interface(options))


def report_error(error: EntityError) -> int:
    """Print a failure the way every command does; returns its exit code."""
    click.secho(f"✖ {error.title}", fg="red", err=True, bold=True)
    if error.detail:
        click.echo(f"  {error.detail}", err=True)
    if error.fix:
        click.echo(f"  → {error.fix}", err=True)
    return error.exit_code


def main(argv: list[str] | None = None) -> None:
    """The console script. Known failures become words and an exit code; unknown ones keep their traceback."""
    try:
        outcome = cli.main(args=argv, prog_name="entity-tui", standalone_mode=False)
        code = outcome if isinstance(outcome, int) else 0
    except EntityError as error:
        code = report_error(error)
    except click.exceptions.Abort:
        click.echo("interrupted", err=True)
        code = INTERRUPTED
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        code = INTERRUPTED
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except BrokenPipeError:
        # The reader of a pipe went away (`| head`); that is not a failure, and stdout cannot be flushed any more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except Exception:  # the outermost border: show the defect whole, as a bug to report
        traceback.print_exc()
        click.echo("This is a defect of entity-tui. Please report it with the lines above.", err=True)
        code = 1
    sys.exit(code)


if __name__ == "__main__":
    main()
