from tests.browser.test_hub_page import *
@in_one_browser
async def test_see(page: Any, site_url: str, project: Any) -> None:
    page.on("console", lambda m: print("CONSOLE", m.text[:300]))
    await open_site_page(page, site_url, "hub.html")
    await page.set_viewport_size({"width":1280,"height":900}); await page.screenshot(path="/tmp/lead/s62/hub0.png", full_page=True)
    await open_model(page, vit_files(*"abc"), "image-classification")
    await page.locator("#picture").set_input_files(draw_picture())
    await page.locator("#run:enabled").click()
    await page.wait_for_timeout(6000)
    print(await page.locator("#alert").text_content()); print(await page.locator("#returned").text_content())
    await page.screenshot(path="/tmp/lead/s62/hub1.png", full_page=True)
