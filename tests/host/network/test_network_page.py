"""docs/network.md says what is so."""

from __future__ import annotations

import inspect
import re

from capgate.host.mediation import fetch, reach, sending, urls
from capgate.host.mediation.blocks import IPV4_BLOCKS, IPV6_BLOCKS, METADATA
from capgate.host.mediation.fetch import Fetch
from capgate.host.mediation.network import NetworkSettings
from network_samples import session
from pages import DOCS, code, prose, table

PAGE = DOCS / "network.md"


def test_the_table_is_the_one_that_decides() -> None:
    listed = [tuple(cell.strip("`") for cell in row) for row in table(PAGE, "The table", "prefix")]

    assert listed == [tuple(block) for block in (*IPV4_BLOCKS, *IPV6_BLOCKS, *METADATA)]


def test_every_refusal_is_listed_and_every_listed_one_exists() -> None:
    source = "".join(map(inspect.getsource, (fetch, reach, sending)))
    raised = set(re.findall(r"Refused\(\s*\"([a-z-]+)\"", source)) | {"budget-exhausted", "bad-request"}
    listed = [code(row[0])[0] for row in table(PAGE, "Refusals", "id")]

    assert sorted(listed) == sorted(raised)
    assert set(re.findall(r"``([a-z-]+)``", inspect.getdoc(Fetch.request) or "")) - {"chain"} == raised


def test_what_is_charged_is_listed_so() -> None:
    free = {code(row[0])[0] for row in table(PAGE, "Refusals", "id") if row[1] == "no"}
    one = session(most=0)
    seen = {
        one.refusal("x"),
        one.refusal("http://a.test/"),
        one.refusal("http://127.0.0.1/", headers={"Host": "a.test"}),
        one.refusal("http://127.0.0.1/"),
    }

    assert seen == free
    assert one.budget.used == 0


def test_the_urls_in_the_page_are_read_as_it_says() -> None:
    for written, read in table(PAGE, "URLs", "written"):
        for url in code(written):
            try:
                found = urls.read_url(url).host
            except urls.BadUrl:
                found = "bad-url"
            assert found == code(read)[0], url


def test_the_numbers_in_the_page_are_the_real_ones() -> None:
    text = prose(PAGE)

    assert f"{urls.LONGEST:,} characters" in text
    assert f"{NetworkSettings().seconds * 1000:g} ms" in text
    assert NetworkSettings().max_bytes == 1 << 20
