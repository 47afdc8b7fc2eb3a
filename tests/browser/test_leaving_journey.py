"""A guest leaves a server where nobody signs in."""

from playwright.sync_api import expect

from tests.workspaces import workspace_at


def test_a_guest_who_leaves_gets_no_other_page_where_nobody_signs_in(serve, warm_home, page):
    workspace = workspace_at(warm_home)
    secret, _ = workspace.base("handbook").access.create_link("fair")
    workspace.close()
    with serve(warm_home) as address:
        page.goto(f"{address}/share/{secret}")
        page.get_by_role("button", name="Leave").click()
        over = page.get_by_role("heading", name="Your visit is over")
        expect(over).to_be_visible()
        for path in ("/chat", "/settings"):
            page.goto(address + path)
            expect(over).to_be_visible()
            expect(page.get_by_role("link", name="Settings")).to_have_count(0)
            expect(page.get_by_placeholder("Ask your documents")).to_have_count(0)
        page.goto(f"{address}/share/{secret}")
        expect(page.get_by_text("Shown to you by a link until")).to_be_visible()
        page.get_by_role("button", name="Leave").click()
        page.get_by_role("button", name="Open the whole application").click()
        expect(page.get_by_role("link", name="Settings")).to_be_visible()
