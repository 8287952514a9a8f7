// Uses the page that runs models, from its folder: node page_test.mjs BROWSER WITHOUT [WITH]
// WITHOUT has no solver: the page says so. WITH has one: models run, errors stand at their line, Stop stops, the link
// holds the model, all text can be read in light and dark colours, in wide and narrow windows.
import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [executablePath, without, folder] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const start = (place, hash = "") => pathToFileURL(place).href + "/index.html" + hash;
const state = (page, name) => page.waitForFunction((n) => document.documentElement.dataset.state === n, name);

{
  const page = await browser.newPage();
  await page.goto(start(without));
  await state(page, "absent");
  assert.match(await page.locator("#hint").innerText(), /built without the solver/);
  assert.match(await page.locator("#text").inputValue(), /model StickSlip/);
  assert.ok(await page.locator("#run").isDisabled());
  await page.close();
  console.log("without a solver the page says so");
}
if (!folder) {
  await browser.close();
  process.exit(0);
}

const trouble = [];
const open = async (hash = "", options = {}) => {
  const page = await browser.newPage(options);
  page.on("pageerror", (error) => trouble.push(String(error)));
  page.on("console", (message) => message.type() === "error" && trouble.push(message.text()));
  page.on("request", (request) => {
    if (!/^(file|blob|data):/.test(request.url())) trouble.push(`fetched: ${request.url()}`);
  });
  await page.goto(start(folder, hash));
  await state(page, "ready");
  return page;
};
const run = async (page) => {
  await page.locator("#run").click();
  await state(page, "done");
};

// A run: its table of events, and the report beside the text.
const page = await open();
await run(page);
const output = page.locator("#output");
assert.match(await output.innerText(), /0\.927295218002 +slide_exit +v1 > v2 becomes true/);
assert.match(await output.innerText(), /success at t = 10/);
const report = page.frameLocator("#report");
await report.locator("#events tbody tr").first().waitFor();
assert.equal(await report.locator("#events tbody tr").count(), 7);
assert.match(await report.locator("#pill").innerText(), /success/);
assert.deepEqual(await page.locator("#files a").allInnerTexts(), ["StickSlip.html"]);

// Options, and files that they ask for.
await page.locator("#options").fill(`--stop 1 --set "mu = 0.3" --csv out.csv`);
await run(page);
assert.match(await output.innerText(), /success at t = 1\n/);
assert.deepEqual(await page.locator("#files a").allInnerTexts(), ["StickSlip.html", "out.csv"]);

// An error stands at its line, and leads to it.
await page.locator("#options").fill("");
await page.locator("#text").fill("model Bad\n  Real x(start = 1);\nequation\n  der(x) = ;\nend Bad;\n");
await run(page);
assert.match(await page.locator("#problems button").innerText(), /^line 4: expected an expression/);
assert.equal(await page.locator("#lines .wrong").innerText(), "4");
assert.ok(await page.locator("#report").isHidden());
await page.locator("#problems button").click();
const place = () => document.getElementById("text").value.slice(0, document.getElementById("text").selectionStart);
assert.equal((await page.evaluate(place)).split("\n").length, 4);

// The link holds the model and the options.
await page.locator("#text").fill("model Fall\n  Real h(start = 5, fixed = true) \"height, in m: µ, ö\";\n" +
  "equation\n  der(h) = -1;\nend Fall;\n");
await page.locator("#options").fill("--stop 3");
await page.locator("#link").click();
await page.waitForFunction(() => location.hash.startsWith("#model="));
const shared = await open(new URL(page.url()).hash);
assert.equal(await shared.locator("#text").inputValue(), await page.locator("#text").inputValue());
await run(shared);
assert.match(await shared.locator("#output").innerText(), /success at t = 3/);
await shared.close();

// Stop ends a run that would take hours; the next one works.
await page.locator("#text").fill("model Long\n  Real x(start = 1, fixed = true), y(start = 0, fixed = true);\n" +
  "equation\n" +
  "  der(x) = y;\n  der(y) = -x;\nend Long;\n");
await page.locator("#options").fill("--stop 1e9");
await page.locator("#run").click();
await state(page, "running");
await page.waitForTimeout(300);
await page.locator("#stop").click();
await state(page, "ready");
await page.locator("#options").fill("--stop 1");
await run(page);
assert.match(await output.innerText(), /success at t = 1/);
await page.close();
console.log("the page runs models, shows errors at their line, stops, and its link holds the model");

// Every example of the gallery can be named in a link.
const names = await (async () => {
  const list = await open();
  const values = await list.locator("#example option").evaluateAll((all) => all.map((o) => o.value));
  await list.close();
  return values.filter((value) => value.startsWith("gallery/"));
})();
assert.ok(names.length >= 19, `${names.length} models of the gallery`);

// Colours and widths.
const faint = () => {
  const numbers = (colour) => colour.match(/[\d.]+/g).map(Number);
  const channel = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const luminance = (rgb) => [0.2126, 0.7152, 0.0722].reduce((sum, w, k) => sum + w * channel(rgb[k] / 255), 0);
  const background = (element) => {
    if (!element) return [255, 255, 255];
    const own = numbers(getComputedStyle(element).backgroundColor);
    return own[3] === undefined || own[3] === 1 ? own : background(element.parentElement);
  };
  const found = [];
  const texts = "body :is(a, label, button, select, input, textarea, pre, p, span, div)";
  for (const element of document.querySelectorAll(texts)) {
    if (!element.offsetParent || element.disabled || !element.textContent.trim()) continue;
    const colours = [numbers(getComputedStyle(element).color), background(element)];
    const [low, high] = colours.map(luminance).sort((a, b) => a - b);
    if ((high + 0.05) / (low + 0.05) < 4.5) found.push(`${element.tagName}#${element.id}`);
  }
  return found;
};
for (const colorScheme of ["light", "dark"]) {
  for (const [width, height, size] of [[1440, 900, "wide"], [390, 844, "narrow"]]) {
    const view = await open("#example=gallery/BallOnTable", { colorScheme, viewport: { width, height } });
    await run(view);
    await view.frameLocator("#report").locator("#events tbody tr").first().waitFor();
    assert.deepEqual(await view.evaluate(faint), [], `${colorScheme}, ${size}`);
    const needed = await view.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(needed <= width, `${needed} pixels in a window of ${width}`);
    if (size === "narrow") { // the report stands below, and is brought into sight
      await view.waitForFunction(() => document.getElementById("report").getBoundingClientRect().top < innerHeight / 2);
    }
    await view.waitForTimeout(300);
    await view.screenshot({ path: `page-${colorScheme}-${size}.png` });
    await view.close();
  }
}
assert.deepEqual(trouble, []);
console.log("all of it can be read in light and dark colours, in wide and narrow windows");
await browser.close();
