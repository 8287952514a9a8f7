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

// All text can be read in both colour schemes: a contrast of at least 4.5 (WCAG 2.1, level AA). A narrow window shows
// the width of a page.
const pages = ["README.html", "docs/tutorial/first-model.html", "docs/tutorial/python.html", "docs/gallery/clutch.html",
               "docs/reference/command-line.html", "docs/reference/cpp/simulate.html"];
const faint = () => {
  const numbers = (colour) => colour.match(/[\d.]+/g).map(Number);
  const channel = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const luminance = (rgb) => [0.2126, 0.7152, 0.0722].reduce((sum, w, k) => sum + w * channel(rgb[k] / 255), 0);
  const over = (front, back) => {
    const alpha = front[3] ?? 1;
    return [0, 1, 2].map((k) => alpha * front[k] + (1 - alpha) * back[k]);
  };
  const background = (element) => {
    if (!element) return [255, 255, 255];
    const own = numbers(getComputedStyle(element).backgroundColor);
    return own[3] === undefined || own[3] === 1 ? own : over(own, background(element.parentElement));
  };
  const found = new Set();
  for (const element of document.querySelectorAll("article :is(pre, pre span, code, td, th, p, li, a, h1, h2, h3)")) {
    if (!element.offsetParent || !element.textContent.trim()) continue;
    const back = background(element), text = over(numbers(getComputedStyle(element).color), back);
    const [low, high] = [luminance(text), luminance(back)].sort((a, b) => a - b);
    if ((high + 0.05) / (low + 0.05) < 4.5) found.add(`${element.tagName}.${element.className}: ${text} on ${back}`);
  }
  return [...found];
};
for (const colorScheme of ["light", "dark"]) {
  const view = await browser.newPage({ colorScheme });
  const brightness = [];
  for (const name of pages) {
    await view.goto(start + name);
    assert.deepEqual(await view.evaluate(faint), [], `${name}, ${colorScheme}`);
    const red = () => Number(getComputedStyle(document.body).backgroundColor.match(/\d+/)[0]);
    brightness.push(await view.evaluate(red));
  }
  assert.ok(brightness.every((b) => (colorScheme === "light" ? b > 200 : b < 60)), `${colorScheme}: ${brightness}`);
  await view.setViewportSize({ width: 390, height: 800 });
  for (const name of pages) {
    await view.goto(start + name);
    const width = await view.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 391, `${name} is ${width} pixels wide in a window of 390`);
  }
  await view.close();
}
console.log("all pages can be read in light and dark colours, and in a narrow window");
await browser.close();
