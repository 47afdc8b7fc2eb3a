"""Two people sign in by OpenID Connect: neither sees what is the other's until it is shared."""

import re

from playwright.sync_api import expect

from pages.components.shell.cookies import sign_in_key
from tests.identity_provider import providing, secrets_file, sign_in
from tests.workspaces import workspace_at


def test_two_people_and_a_link(serve, warm_home, tmp_path, open_page, shoot, monkeypatch):
    file = tmp_path / "secrets.toml"
    monkeypatch.setenv("STREAMLIT_SECRETS_FILES", str(file))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with providing("Ann", "Ben") as provider:
        file.write_text(secrets_file(provider))
        with serve(warm_home) as address:
            ann, ben, guest = open_page(), open_page(), open_page()
            sign_in(ann, address, "Ann")  # the first one gets what was there
            ann.goto(f"{address}/settings?kb=handbook&settings=Access")
            expect(ann.get_by_role("heading", name="Members")).to_be_visible()
            sign_in(ben, address, "Ben")
            ben.goto(f"{address}/chat?kb=handbook")
            expect(ben.get_by_text("There is no knowledge base handbook here")).to_be_visible()

            ann.get_by_label("E-mail").fill("ben@example.org")
            ann.get_by_role("button", name="Add", exact=True).click()
            expect(ann.get_by_role("button", name="Remove", exact=True)).to_be_visible()
            shoot(ann, "members")
            ben.goto(f"{address}/settings?kb=handbook&settings=Access")
            expect(ben.get_by_text("You can view and ask here, as viewer.")).to_be_visible()
            expect(ben.get_by_role("heading", name="Sharing by link")).to_be_hidden()

            workspace = workspace_at(warm_home)
            workspace.base("handbook").access.change_member("ben@example.org", "owner")
            ben.reload()
            expect(ben.get_by_role("heading", name="Sharing by link")).to_be_visible()
            ben.get_by_role("button", name="Make a link").click()
            shown = ben.get_by_text(re.compile(r"/share/share_")).first
            expect(shown).to_be_visible()
            found = re.search(r"/share/share_[\w-]+", shown.inner_text())
            guest.goto(address + found.group())
            expect(guest.get_by_text("Shown to you by a link until")).to_be_visible()
            # Without runs or tours there is the chat alone, and no list of pages.
            expect(guest.get_by_test_id("stSidebarNavLink")).to_have_count(0)
            assert "share_" not in guest.url
            shoot(guest, "guest")
            ann.goto(f"{address}/audit")
            expect(ann.get_by_role("tab", name="Audit log", selected=True)).to_be_visible()
            shoot(ann, "audit")
            told = {(line.email, line.entry.action) for line in workspace.access.audit.lines()}
            assert {
                ("ann@example.org", "access.add_member"),
                ("ben@example.org", "access.create_link"),
            } <= told
            people = workspace.access.people
            people.forget(people.by_email("ben@example.org"))
            workspace.close()
            ben.reload()  # the cookie says still who this is
            expect(ben.get_by_text("This account was deleted")).to_be_visible()
            ben.get_by_role("button", name="Sign out").click()
            expect(ben.get_by_role("heading", name="Sign in")).to_be_visible()
            shoot(ben, "sign-in")
            ben.wait_for_timeout(1000)  # providers say in whole seconds when somebody signed in
            sign_in(ben, address, "Ben")
            ben.goto(f"{address}/chat?kb=handbook")
            expect(ben.get_by_text("There is no knowledge base handbook here")).to_be_visible()


def test_all_tabs_follow_the_cookie(serve, warm_home, tmp_path, open_page, monkeypatch):
    file = tmp_path / "secrets.toml"
    monkeypatch.setenv("STREAMLIT_SECRETS_FILES", str(file))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with providing("Ann", "Ben") as provider:
        file.write_text(secrets_file(provider))
        with serve(warm_home) as address:
            tab = open_page()
            sign_in(tab, address, "Ann")
            stolen = tab.context.cookies()
            other = tab.context.new_page()
            shown = other.get_by_test_id("stSidebar")
            other.goto(f"{address}/settings?kb=handbook")
            expect(shown.get_by_text("Ann")).to_be_visible()

            refused = tab.context.request.get(f"{address}/auth/logout")  # as a link elsewhere
            assert (refused.status, refused.headers["allow"]) == (405, "POST")
            forged = {"Origin": "https://evil.example"}
            refused = tab.context.request.post(f"{address}/auth/logout", headers=forged)
            assert refused.status == 403
            other.reload()
            expect(shown.get_by_text("Ann")).to_be_visible()

            tab.get_by_role("button", name="Sign out").click()
            for page in (tab, other):
                expect(page.get_by_text("You are signed out")).to_be_visible()
            thief = open_page()
            thief.context.add_cookies(stolen)  # type: ignore[arg-type]
            thief.goto(f"{address}/settings?kb=handbook")
            expect(thief.get_by_text("You are signed out")).to_be_visible()

            tab.wait_for_timeout(1000)  # providers say in whole seconds when somebody signed in
            sign_in(tab, address, "Ben")
            other.get_by_role("button", name="Sign in").click()  # it shows the door still
            other.get_by_role("link", name="Ann").click()
            for page in (other, tab):
                expect(page.get_by_test_id("stSidebar").get_by_text("Ann")).to_be_visible()

            workspace = workspace_at(warm_home)  # another process, which ends a sign-in too
            cookies = {cookie["name"]: cookie["value"] for cookie in tab.context.cookies()}
            workspace.access.sign_ins.end(sign_in_key(cookies))
            for page in (tab, other):
                expect(page.get_by_text("You are signed out")).to_be_visible()
            lines = reversed(workspace.access.audit.lines(kind="sign-in"))
            assert [(line.email, line.entry.action) for line in lines] == [
                (f"{name}@example.org", action)
                for name in ("ann", "ben", "ann")
                for action in ("sign_in", "sign_out")
            ]
            workspace.close()
