// Opens reports in a real browser and asserts what is in them, not how their pixels look:
//   node report_test.mjs BROWSER PAGE.html ...
// PAGE.html may have a file PAGE.expect.json beside it: { status, hostile, use, loads_within_ms, panels, texts }. With
// `use`, pointer and keys are tried as well; `texts` says what the elements of some selectors show.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [executablePath, ...files] = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath,
  args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
});

const open = async (file, colorScheme) => {
  const context = await browser.newContext({
    viewport: { width: 1320, height: 1000 },
    colorScheme,
    reducedMotion: "reduce",
  });
  context.setDefaultTimeout(60_000); // other tests may need the machine as well
  const page = await context.newPage();
  const troubles = [];
  page.on("pageerror", (e) => troubles.push(`error: ${e.message}`));
  page.on("console", (m) => m.type() !== "log" && troubles.push(`console: ${m.text()}`));
  page.on("dialog", (d) => {
    troubles.push("a dialog: " + d.message());
    d.dismiss();
  });
  page.on("request", (r) => r.url() === pathToFileURL(file).href || troubles.push(`request: ${r.url()}`));
  const began = performance.now();
  await page.goto(pathToFileURL(file).href);
  await page.waitForFunction(() => document.documentElement.dataset.window);
  return { page, troubles, loaded: performance.now() - began, close: () => context.close() };
};
const frame = (page) =>
  page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
const state = async (page) => {
  await frame(page);
  return page.evaluate(() => {
    const { window, event, shown, mode } = saltusReport.state;
    return { window, event, shown: [...shown], mode };
  });
};
// the share of pixels that are not transparent
const painted = (page, selector) =>
  page.evaluate((s) => {
    const c = document.querySelector(s),
      d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
    let n = 0;
    for (let i = 3; i < d.length; i += 4) n += d[i] > 0;
    return (4 * n) / d.length;
  }, selector);
const facts = (page) =>
  page.evaluate(() => {
    const { data } = saltusReport,
      count = (s) => document.querySelectorAll(s).length;
    return {
      status: data.status,
      variables: data.variables.length,
      events: data.events.length,
      modes: data.modes.nodes.length,
      edges: data.modes.edges.length,
      structures: (data.structure || []).length,
      moves: data.to > data.from,
      theme: document.documentElement.dataset.theme,
      rows: count("#events tbody tr[tabindex]"),
      circles: count("#mode-graph circle"),
      arrows: count("#mode-graph path.edge"),
      mode_rows: count("#mode-table tbody tr"),
      boxes: count("#variables input"),
      figures: count("#figures div"),
      fired: count("pre.source .fired"),
      lines: count("pre.source > div"),
      matrix: count("#matrix svg rect, #matrix canvas"),
      images: count("img, iframe, object, embed, link"),
      scripts: count("script"),
      ids:
        [...document.querySelectorAll("[id]")].length -
        new Set([...document.querySelectorAll("[id]")].map((e) => e.id)).size,
    };
  });

// Names for screen readers, and contrast of texts: 4.5 to 1 (WCAG 2.1, 1.4.3).
const accessibility = (page) =>
  page.evaluate(() => {
    const found = [];
    const visible = (e) => e.getClientRects().length > 0 && getComputedStyle(e).visibility === "visible";
    for (const e of document.querySelectorAll("button, input, select, canvas, svg, a, [tabindex], nav, pre")) {
      const label = e.getAttribute("aria-label") || e.textContent.trim() || e.closest("label")?.textContent.trim();
      if (visible(e) && !label) found.push(`no name: ${e.outerHTML.slice(0, 80)}`);
    }
    for (const e of document.querySelectorAll("section[aria-labelledby]"))
      if (!document.getElementById(e.getAttribute("aria-labelledby"))) found.push(`no heading: ${e.id}`);
    const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const rgb = (colour, below) => {
      // as it looks on what is below
      pen.fillStyle = `rgb(${below.join(" ")})`;
      pen.fillRect(0, 0, 1, 1);
      pen.fillStyle = colour;
      pen.fillRect(0, 0, 1, 1);
      return [...pen.getImageData(0, 0, 1, 1).data.slice(0, 3)];
    };
    const luminance = (c) =>
      c
        .map((v) => v / 255)
        .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
        .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
    const behind = (e) => (e ? rgb(getComputedStyle(e).backgroundColor, behind(e.parentElement)) : [255, 255, 255]);
    const seen = new Set();
    for (const e of document.querySelectorAll("body *")) {
      if (e.closest("svg, script, style, noscript, [hidden], .tip") || !visible(e)) continue;
      if (![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
      const style = getComputedStyle(e),
        below = behind(e),
        key = style.color + below;
      if (seen.has(key)) continue;
      seen.add(key);
      const [a, b] = [luminance(rgb(style.color, below)), luminance(below)].sort((x, y) => y - x),
        ratio = (a + 0.05) / (b + 0.05);
      if (ratio < 4.5)
        found.push(
          `contrast ${ratio.toFixed(2)}: ${e.tagName}.${e.className} "${e.textContent.trim().slice(0, 30)}"`,
        );
    }
    return found;
  });

const check_contents = async (page, expected) => {
  const f = await facts(page);
  assert.equal(f.rows, f.events, "a row for each event that is explained");
  assert.equal(f.circles, f.modes, "a circle for each mode");
  assert.equal(f.arrows, f.edges, "an arrow for each change");
  assert.equal(f.mode_rows, f.modes);
  assert.equal(f.boxes, f.variables);
  assert.equal(f.figures, 8);
  assert.equal(f.images, 0);
  assert.equal(f.scripts, 2);
  assert.equal(f.ids, 0, "ids are unique");
  if (f.structures) assert.ok(f.matrix > 0, "the structure is drawn");
  if (f.moves && f.variables) {
    assert.ok((await painted(page, "#panels canvas")) > 0.004, "the plot is not empty");
    if (f.variables > 1) assert.ok((await painted(page, "#phase canvas")) > 0.004, "the phase portrait is not empty");
  }
  assert.equal(f.status.ok, await page.locator("#alert").isHidden(), "a failed run begins with its reason");
  assert.equal(f.status.code, expected.status || "success");
  if (!f.status.ok) assert.ok((await page.locator("#alert").innerText()).includes(f.status.meaning));
  if (expected.panels) assert.equal(await page.locator("#panels canvas").count(), expected.panels);
  for (const [selector, text] of Object.entries(expected.texts || {})) {
    const shown = await page.locator(selector).innerText();
    assert.ok(shown.includes(text), `${selector} shows "${shown}"`);
  }
  assert.deepEqual(await accessibility(page), []);
  return f;
};

const check_events = async (page, f) => {
  const box = await page.locator("#panels canvas").first().boundingBox();
  const [share, title] = await page.evaluate(() => {
    const e = saltusReport.data.events.at(-1),
      [a, b] = saltusReport.state.window;
    return [(e.t - a) / (b - a), e.title];
  });
  await page.mouse.move(box.x + 66 + share * (box.width - 80), box.y + box.height / 2); // the margins of the plot
  await page.waitForSelector(".tip .what");
  assert.match(await page.locator(".tip").innerText(), /^time/);
  await page.locator("#events tbody tr[tabindex]").last().click();
  assert.equal((await state(page)).event, f.events - 1);
  assert.ok((await page.locator("#event-title").innerText()).includes(title), "the card tells the event");
  await page.locator("#next").click();
  assert.equal((await state(page)).event, 0, "after the last event comes the first");
  if (f.fired) {
    await page.locator("pre.source .fired").first().click();
    const { event } = await state(page),
      line = Number(await page.locator("pre.source .fired .n").first().innerText());
    assert.ok(
      await page.evaluate(([k, n]) => saltusReport.data.events[k].places.includes(n), [event, line]),
      "a line shows its events",
    );
  }
};

const check_window = async (page) => {
  const canvas = page.locator("#panels canvas").first(),
    whole = (await state(page)).window;
  (await page.locator("#whole").isVisible()) && (await page.locator("#whole").click());
  await canvas.scrollIntoViewIfNeeded();
  const b = await canvas.boundingBox(),
    y = b.y + Math.min(100, b.height / 2),
    width = whole[1] - whole[0];
  const drag = async (from, to) => {
    await page.mouse.move(b.x + b.width * from, y);
    await page.mouse.down();
    await page.mouse.move(b.x + b.width * to, y, { steps: 3 });
    await page.mouse.up();
  };
  await drag(0.4, 0.6);
  const zoomed = (await state(page)).window;
  assert.ok(zoomed[1] - zoomed[0] < 0.3 * width, "dragging zooms");
  await page.keyboard.down("Shift");
  await drag(0.6, 0.5);
  await page.keyboard.up("Shift");
  assert.ok((await state(page)).window[0] > zoomed[0], "dragging with shift moves");
  await page.mouse.dblclick(b.x + b.width * 0.5, y);
  assert.deepEqual((await state(page)).window, whole, "a double click shows everything");
  await page.evaluate(() => document.activeElement.blur());
  await page.mouse.wheel(0, -200);
  assert.deepEqual((await state(page)).window, whole, "the wheel scrolls the page until the plot is chosen");
  await canvas.focus();
  await canvas.scrollIntoViewIfNeeded();
  const c = await canvas.boundingBox();
  await page.mouse.move(c.x + c.width * 0.5, c.y + c.height / 2);
  await page.mouse.wheel(0, -200);
  await page.waitForFunction((low) => saltusReport.state.window[0] > low, whole[0]);
  for (const [key, moved] of [
    ["0", (w) => w[0] === whole[0] && w[1] === whole[1]],
    ["+", (w) => w[1] - w[0] < 0.8 * width],
    ["ArrowRight", (w) => w[1] > whole[0] + 0.86 * width],
    ["-", (w) => w[1] - w[0] > 0.9 * width],
    ["Escape", (w) => w[0] === whole[0]],
  ]) {
    await page.keyboard.press(key);
    assert.ok(moved((await state(page)).window), `key ${key}`);
  }
};

const check_controls = async (page, f) => {
  const before = (await state(page)).shown.length;
  await page.locator("#variables input").first().uncheck();
  assert.equal((await state(page)).shown.length, before - 1);
  await page.locator("#variables input").first().check();
  assert.equal((await state(page)).shown.length, before);
  await page.locator("#mode-table tbody tr").first().focus();
  await page.keyboard.press("Enter");
  assert.equal((await state(page)).mode, 0, "a mode can be chosen by keys");
  await page.keyboard.press("Enter");
  await page.locator("#theme").click();
  await frame(page);
  assert.notEqual((await facts(page)).theme, f.theme, "the button changes the theme");
  if (f.moves) assert.ok((await painted(page, "#panels canvas")) > 0.004);
  await page.locator("#theme").click();
  await page.emulateMedia({ media: "print" });
  assert.ok(await page.locator("header.top").isHidden(), "no controls on paper");
  assert.ok(await page.locator("#panels canvas").first().isVisible());
  await page.emulateMedia({ media: "screen" });
};

const check_hostile = async (page) => {
  const name = await page.evaluate(() => saltusReport.data.variables[0].name);
  assert.match(name, /<\/script>/);
  assert.equal(await page.locator("#variables .name").first().innerText(), name, "the name is shown as it is");
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  // even if a script or a request got into the page, its policy would stop them
  const stopped = await page.evaluate(
    () =>
      new Promise((done) => {
        const blocked = [];
        document.addEventListener("securitypolicyviolation", (e) => {
          blocked.push(e.effectiveDirective);
          if (blocked.length === 2) done(blocked.sort());
        });
        const script = document.createElement("script");
        script.textContent = "window.hacked = 1";
        document.body.append(script);
        const image = document.createElement("img");
        image.src = "https://example.org/a.png";
        document.body.append(image);
      }),
  );
  assert.deepEqual(stopped, ["img-src", "script-src-elem"]);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
};

let failures = 0;
for (const file of files) {
  const beside = file.replace(/\.html$/, ".expect.json"),
    expected = existsSync(beside) ? JSON.parse(readFileSync(beside, "utf8")) : {};
  for (const scheme of ["light", "dark"]) {
    const began = performance.now(),
      name = `${basename(file)} ${scheme}`;
    const { page, troubles, loaded, close } = await open(file, scheme);
    try {
      const f = await check_contents(page, expected);
      assert.equal(f.theme, scheme, "the theme of the system");
      assert.ok(loaded < (expected.loads_within_ms || 30_000), `loaded in ${loaded} ms`);
      if (expected.use && scheme === "light") {
        if (f.events) await check_events(page, f);
        await check_window(page);
        await check_controls(page, f);
      }
      assert.deepEqual(troubles, []);
      if (expected.hostile && scheme === "light") await check_hostile(page);
      console.log(
        `ok   ${name}: ${f.events} events, loaded in ${Math.round(loaded)} ms, ` +
          `${Math.round(performance.now() - began)} ms in all`,
      );
    } catch (e) {
      ++failures;
      console.log(
        `FAIL ${name}: ${e.message}\n${e.stack
          .split("\n")
          .filter((l) => l.includes("report_test"))
          .slice(0, 3)
          .join("\n")}\n${troubles.join("\n")}`,
      );
    }
    await close();
  }
}
await browser.close();
console.log(`${files.length} pages, ${failures} failures`);
process.exit(failures ? 1 : 0);
