// Takes the picture of a report that the README shows, with an event explained:
//   node screenshot.mjs BROWSER PAGE.html PICTURE.png [EVENT]
// Run it in the folder in which browser_test.py has installed its driver.
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [executablePath, file, picture, event = "3"] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1200, height: 900 }, colorScheme: "light" });
await page.goto(pathToFileURL(file).href);
await page.waitForFunction(() => document.documentElement.dataset.window);
const share = await page.evaluate((n) => {
  const [low, high] = saltusReport.state.window;
  return (saltusReport.data.events[n - 1].t - low) / (high - low);
}, Number(event));
const box = await page.locator("#panels canvas").first().boundingBox();
await page.mouse.move(box.x + 66 + share * (box.width - 80), box.y + box.height * 0.6); // the margins of the plot
await page.waitForTimeout(300);
await page.screenshot({ path: picture });
await browser.close();
