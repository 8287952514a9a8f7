// The documentation as a site, opened from its folder without a web server: node site_test.mjs BROWSER FOLDER
// Nothing is fetched from elsewhere, nothing is missing, the search finds pages, a report opens.
import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [executablePath, folder] = process.argv.slice(2);
const start = pathToFileURL(folder).href + "/";
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const page = await browser.newPage();
const trouble = [];
page.on("console", (message) => message.type() === "error" && trouble.push(message.text()));
page.on("pageerror", (error) => trouble.push(String(error)));
page.on("requestfailed", (request) => trouble.push(`not found: ${request.url()}`));
page.on("request", (request) => {
  if (!request.url().startsWith(start) && !request.url().startsWith("data:")) trouble.push(`fetched: ${request.url()}`);
});

await page.goto(start + "index.html");
await page.waitForURL("**/README.html");
assert.match(await page.locator("h1").innerText(), /Saltus/);

await page.getByRole("textbox", { name: "Search" }).fill("chattering");
await page.keyboard.press("Enter");
await page.waitForURL("**/search.html?*");
// The results come one after the other: the page is looked for until it is there.
const evaporator = page.locator("#search-results li > a", { hasText: "Evaporator vessel" }).first();
await evaporator.waitFor();
await evaporator.click();
await page.getByRole("link", { name: "--html Evaporator.html" }).click();
await page.waitForURL("**/reports/Evaporator.html");
await page.waitForFunction(() => document.documentElement.dataset.window);

assert.deepEqual(trouble, []);
console.log("the site works from its folder");
await browser.close();
