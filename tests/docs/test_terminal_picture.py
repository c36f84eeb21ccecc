"""The picture of the command line shows what its commands print."""

import html
import re
from pathlib import Path
from xml.etree import ElementTree

from rich.text import Text
from scripts.draw_terminal import TARGET, draw, session

SVG = "{http://www.w3.org/2000/svg}"


def words(text: str) -> list[str]:
    return re.findall(r"\S+", html.unescape(text))


def test_the_picture_shows_what_the_commands_print() -> None:
    shown = session()
    drawn = ElementTree.parse(TARGET).getroot()
    lines = [text for text in drawn.iter(f"{SVG}text") if "clip-path" in text.attrib]
    expected = [
        word for pair in shown for text in pair for word in words(Text.from_ansi(text).plain)
    ]
    found = [word for line in lines for word in words("".join(line.itertext()))]
    assert [word for word in found if word != "$"] == expected


def test_it_is_drawn_the_same_each_time_and_needs_no_other_host(tmp_path: Path) -> None:
    picture = draw([("pymosaic count x.mosaic", "\x1b[1m7\x1b[0m\n")])
    assert picture == draw([("pymosaic count x.mosaic", "\x1b[1m7\x1b[0m\n")])
    assert set(re.findall(r"https?://[\w./]+", picture)) <= {
        "http://www.w3.org/2000/svg",
        "https://www.textualize.io",
    }
