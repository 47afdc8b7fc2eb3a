"""The dashboard behind nginx with the configuration of the documentation."""

import httpx
from playwright.sync_api import expect

from tests.identity_provider import providing, secrets_file, sign_in
from tests.nginx import free_port, in_front_of


def test_cookies_are_secure_by_tls(serve, warm_home, tmp_path, open_page, monkeypatch):
    file, port = tmp_path / "secrets.toml", free_port()
    monkeypatch.setenv("STREAMLIT_SECRETS_FILES", str(file))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with providing("Ann") as provider:
        file.write_text(secrets_file(provider, f"https://127.0.0.1:{port}"))
        with serve(warm_home) as upstream, in_front_of(upstream, port) as address:
            page = open_page()
            sign_in(page, address, "Ann")
            cookies = {cookie["name"]: cookie for cookie in page.context.cookies()}
            assert {"_streamlit_user", "_streamlit_xsrf", "touchstone_visitor"} <= set(cookies)
            assert [name for name, cookie in cookies.items() if not cookie["secure"]] == []
            asked = httpx.get(f"{address}/healthz", verify=False, trust_env=False)
            assert asked.headers["Strict-Transport-Security"].startswith("max-age=")


def test_a_page_says_why_its_session_is_refused(serve, warm_home, open_page):
    port = free_port()
    without_port = {"$http_host": "$host"}
    with serve(warm_home) as upstream, in_front_of(upstream, port, without_port) as address:
        page = open_page()
        page.goto(address)
        expect(page.get_by_role("dialog")).to_contain_text(f"'https://127.0.0.1:{port}'")
