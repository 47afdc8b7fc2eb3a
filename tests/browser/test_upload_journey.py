"""A file is dropped, read, looked at, and answers with a citation."""

from playwright.sync_api import expect

from tests.browser.waiting import click_row

BOILER = (
    "The boiler in the basement hums at night because its pump runs dry.\n\n"
    "Its filter is changed every 14 months by the caretaker.\n"
)


def test_a_file_is_uploaded_previewed_and_cited(serve, warm_home, page, shoot):
    with serve(warm_home) as address:
        page.goto(f"{address}/documents")
        page.get_by_role("heading", name="3 documents").wait_for()
        page.locator("input[type=file]").first.set_input_files(
            {"name": "boiler.txt", "mimeType": "text/plain", "buffer": BOILER.encode()}
        )
        page.get_by_text("1 file to add.").wait_for()
        expect(page.get_by_text("hums at night").first).to_be_visible()
        page.get_by_role("button", name="Add 1 file").click()
        page.get_by_text("1 file: 1 added (1 passage).").wait_for()
        page.get_by_role("heading", name="4 documents").wait_for()
        preview = page.get_by_role("heading", name="boiler.txt")
        click_row(page.get_by_test_id("stDataFrame").first, 0, preview)
        page.wait_for_url("**doc=*")
        text = page.get_by_test_id("stMarkdownContainer").filter(has_text="hums at night")
        expect(text.last).to_contain_text("hums at night because its pump runs dry")
        shoot(page, "documents-preview")

        page.get_by_role("link", name="Ask these documents").click()
        page.get_by_test_id("stChatInputTextArea").fill("How often is the filter changed?")
        page.get_by_test_id("stChatInputTextArea").press("Enter")
        page.get_by_text("every 14 months").first.wait_for()
        page.get_by_text("boiler.txt").first.wait_for()
        shoot(page, "chat-cited")
