"""The web page is complete in the package, and its policy admits nothing else."""

import re
from pathlib import Path
from typing import Any, get_args

import httpx
import pytest

from compiler.stages import TextStage
from service.page_state import ArgumentText, CaseText, LaunchText, PageState, PaneKind, RequestText
from service.routes import pages
from service.routes.pages import FOLDER, page_files
from service.settings import ServiceSettings
from tests.unit.service.applications import application


@pytest.fixture(params=["plain", "built"])
def built(request: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Serve the plain page, or one that `make page` built."""
    folder = tmp_path / "page"
    (folder / "plain").mkdir(parents=True)
    for file in (Path(str(FOLDER)) / "plain").iterdir():
        (folder / "plain" / file.name).write_bytes(file.read_bytes())
    if request.param == "built":
        (folder / "built").mkdir()
        (folder / "built/main-ABCD2345.js").write_text("export {};\n" * 200)
        (folder / "built/style-ABCD2345.css").write_text("a{}")
        (folder / "built/index.html").write_text(
            '<html data-github="{{github}}"><link rel="stylesheet" href="page/style-ABCD2345.css">'
            '<script src="page/main-ABCD2345.js" nonce="{{nonce}}"></script></html>'
        )
    monkeypatch.setattr(pages, "_PAGE", page_files(folder))
    kind: str = request.param
    return kind


async def get(path: str, **headers: str) -> httpx.Response:
    app: Any = application()
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
        return await http.get(path, headers=headers)


def policy_of(answer: httpx.Response) -> dict[str, str]:
    directives = answer.headers["content-security-policy"].split(";")
    return dict(directive.strip().split(" ", 1) for directive in directives)


@pytest.mark.usefixtures("built")
async def test_the_page_is_html_that_loads_only_what_is_here():
    page = await get("/")

    assert page.headers["content-type"].startswith("text/html")
    loaded = re.findall(r'(?:src|href)="(page/[^"]+)"', page.text)
    assert len(loaded) == 2
    assert "://" not in page.text
    assert not re.search(r'(?:src|href)="/', page.text), "an address that no prefix stands before"
    for path in loaded:
        assert (await get(f"/{path}")).status_code == 200


@pytest.mark.usefixtures("built")
async def test_the_policy_allows_no_other_origin_and_nothing_inline_but_by_a_nonce():
    page = await get("/")
    policy = policy_of(page)

    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert policy["script-src"] == policy["connect-src"] == "'self'"
    assert re.fullmatch(r"'self' 'nonce-[\w-]{22}'", policy["style-src"])
    assert "unsafe" not in str(policy)
    assert "http" not in str(policy)
    for path in re.findall(r'(?:src|href)="(page/[^"]+)"', page.text):
        assert policy_of(await get(f"/{path}"))["style-src"] == "'self'"


async def test_the_page_may_ask_github_only_where_the_operator_allows_it(
    built: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TRITOND_PAGE_OPENS_GITHUB", "true")
    page = await get("/")
    others = [await get(path) for path in (SHARED, "/docs", "/page/main-ABCD2345.js")]

    github = "https://raw.githubusercontent.com https://gist.githubusercontent.com"
    assert policy_of(page)["connect-src"] == f"'self' {github}"
    assert ('data-github="open"' in page.text) == (built == "built")
    for answer in others:
        assert "github" not in answer.headers.get("content-security-policy", "")
        assert 'data-github="open"' not in answer.text


SHARED = "/e/sha256:" + "0" * 64


@pytest.mark.parametrize(
    ("origins", "ancestors"),
    [
        ("", "'self'"),
        (
            "https://a.example, http://*.b.example:81",
            "'self' https://a.example http://*.b.example:81",
        ),
    ],
)
async def test_what_is_shared_is_framed_by_this_service_and_by_origins_that_are_named(
    built: str, monkeypatch: pytest.MonkeyPatch, origins: str, ancestors: str
):
    monkeypatch.setenv("TRITOND_EMBED_ORIGINS", origins)
    page = await get(SHARED)
    if built == "plain":
        assert page.status_code == 404
        assert "make page" in page.json()["detail"]
        return
    others = {name: value for name, value in policy_of(page).items() if name != "frame-ancestors"}

    assert policy_of(page)["frame-ancestors"] == ancestors
    assert others.keys() == policy_of(await get("/")).keys() - {"frame-ancestors"}
    assert re.findall(r'(?:src|href)="([^"]+/)', page.text) == ["../page/", "../page/"]
    for path in ("/", "/learn", "/docs", "/redoc"):
        assert policy_of(await get(path))["frame-ancestors"] == "'none'"


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("path", ["/e/", "/e/x", SHARED[:-1], SHARED + "0", SHARED + "/x"])
async def test_of_what_is_no_digest_no_page_is_made(path: str):
    assert (await get(path)).status_code == 404


@pytest.mark.parametrize(
    "origin", ["*", "'unsafe-inline'", "https:", "https://a.example/b", "a.example; x"]
)
def test_an_invalid_origin_is_refused_at_the_start(origin: str):
    with pytest.raises(ValueError, match="is not an origin such as"):
        ServiceSettings(embed_origins=origin)


async def test_a_nonce_is_used_once_and_known_to_the_script(built: str):
    first, second = await get("/"), await get("/")

    for page in (first, second):
        nonce = policy_of(page)["style-src"].removeprefix("'self' 'nonce-").removesuffix("'")
        assert (f'nonce="{nonce}"' in page.text) == (built == "built")
    assert policy_of(first)["style-src"] != policy_of(second)["style-src"]
    assert first.headers["cache-control"] == "no-cache"


async def test_names_with_a_digest_are_kept_for_ever_and_no_others(built: str):
    path = "/page/main-ABCD2345.js" if built == "built" else "/page/script.js"
    kept = (await get(path)).headers["cache-control"]

    assert kept == ("public, max-age=31536000, immutable" if built == "built" else "no-cache")


@pytest.mark.usefixtures("built")
async def test_scripts_are_sent_compressed_to_who_takes_that():
    [path] = re.findall(r'src="(page/[^"]+)"', (await get("/")).text)
    plain = await get(f"/{path}", **{"accept-encoding": "identity"})
    small = await get(f"/{path}", **{"accept-encoding": "gzip, br"})

    assert small.headers["content-encoding"] == "gzip"
    assert plain.headers["vary"] == small.headers["vary"] == "Accept-Encoding"
    assert small.text == plain.text
    assert int(small.headers["content-length"]) < int(plain.headers["content-length"]) / 2


async def test_the_plain_script_never_makes_markup_of_text():
    script = (Path(str(FOLDER)) / "plain/script.js").read_text()

    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", script)


async def test_the_sources_of_the_page_never_make_markup_of_text():
    sources = list((Path(__file__).parents[3] / "page/src").glob("*.ts"))

    assert len(sources) > 10
    for source in sources:
        found = re.search(
            r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\(|new Function",
            source.read_text(),
        )
        assert not found, source.name


def test_every_pane_can_be_stored_in_a_state():
    source = (Path(__file__).parents[3] / "page/src/pane_kinds.ts").read_text()
    listed = source[source.index("KINDS") : source.index("];")]

    others = re.findall(r'\["(\w+)", "', listed)
    assert "...STAGES.map" in listed
    assert [*get_args(TextStage), *others] == list(get_args(PaneKind))


def test_the_page_and_the_service_have_one_shape_of_a_state():
    sources = Path(__file__).parents[3] / "page/src"
    example = (sources / "page_state.ts").read_text()

    for part in (PageState, RequestText, LaunchText, ArgumentText, CaseText):
        for name in part.model_fields:
            assert re.search(rf"\b{name}\??:", example), f"{part.__name__}.{name}"


@pytest.mark.usefixtures("built")
async def test_other_files_are_not_served():
    for path in ("..%2fsettings.py", "__init__.py", "index.html", "..%2fdocs.html"):
        assert (await get(f"/page/{path}")).status_code == 404


DOCUMENTATION = ["/docs", "/redoc"]


@pytest.mark.parametrize("path", DOCUMENTATION)
async def test_the_documentation_loads_only_what_is_here(path: str):
    page = await get(path)

    assert page.headers["content-type"].startswith("text/html")
    loaded = re.findall(r'(?:src|href|spec-url)="([^"]+)"', page.text)
    assert loaded
    for address in loaded:
        assert not address.startswith("/"), "an address that no prefix stands before"
        assert address == "data:," or (await get(f"/{address}")).status_code == 200, address
    assert "://" not in page.text
    assert not re.search(r"<script(?![^>]* src=)", page.text), "an inline script"


async def test_redoc_asks_its_maker_for_no_picture():
    assert "cdn.redoc.ly" not in (await get("/docs/redoc.standalone.js")).text


@pytest.mark.parametrize("path", [*DOCUMENTATION, "/docs/docs.js", "/docs/swagger-ui-bundle.js"])
async def test_the_documentation_runs_no_script_from_elsewhere(path: str):
    answer = await get(path)
    policy = policy_of(answer)

    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert policy["script-src"] == policy["connect-src"] == "'self'"
    assert "http" not in str(policy)
    assert answer.headers["x-content-type-options"] == "nosniff"


async def test_other_files_of_the_package_are_not_served():
    assert (await get("/docs/favicon.png")).status_code == 404
    assert (await get("/docs/..%2f__init__.py")).status_code == 404
