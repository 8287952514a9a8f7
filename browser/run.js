// The page that runs a model: an editor, and the report beside it. The solver works in a worker, which Stop ends.
"use strict";
(() => {
const at = (id) => document.getElementById(id);
const [text, options, output, state, report] = ["text", "options", "output", "state", "report"].map(at);
let worker = null, began = 0, links = [];

const tell = (words, name, bad = false) => {
  state.textContent = words;
  state.classList.toggle("bad", bad);
  document.documentElement.dataset.state = name; // for tests
  at("run").disabled = name === "loading" || name === "running" || name === "absent";
  at("stop").disabled = name !== "running";
};

// --- the editor

const numberLines = () => {
  const count = text.value.split("\n").length;
  if (at("lines").childElementCount === count) return;
  at("lines").replaceChildren(...Array.from({ length: count }, (_, k) => {
    const line = document.createElement("div");
    line.textContent = k + 1;
    return line;
  }));
};
const forget = () => {
  at("problems").replaceChildren();
  for (const line of at("lines").querySelectorAll(".wrong")) line.classList.remove("wrong");
};
const goTo = (line, column) => {
  const before = text.value.split("\n").slice(0, line - 1).join("\n").length + (line > 1);
  text.focus();
  text.setSelectionRange(before + column - 1, before + column);
};
// A diagnostic, "Model.mo:5:6: error: …", as a line that leads to its place.
const noteProblem = (line) => {
  const found = line.match(/^[^:]*\.mo:(\d+):(\d+): (error|warning): (.*)$/);
  if (!found) return;
  const [row, column] = [Number(found[1]), Number(found[2])];
  const item = document.createElement("li"), button = document.createElement("button");
  button.type = "button";
  button.textContent = `line ${row}: ${found[4]}`;
  button.addEventListener("click", () => goTo(row, column));
  item.append(button);
  at("problems").append(item);
  at("lines").children[row - 1]?.classList.add("wrong");
};
const edit = (words) => {
  text.value = words;
  numberLines();
  forget();
  text.scrollTop = text.scrollLeft = at("lines").scrollTop = 0;
};
text.addEventListener("input", () => (forget(), numberLines()));
text.addEventListener("scroll", () => (at("lines").scrollTop = text.scrollTop));

// --- models: those of the list, and one in the link

const modelName = () => text.value.match(/^\s*(?:model|class|block)\s+([A-Za-z]\w*)/m)?.[1] ?? "Model";

const through = async (bytes, stream) =>
  new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
const packed = async (words) => {
  const bytes = await through(new TextEncoder().encode(words), new CompressionStream("deflate-raw"));
  const base64 = btoa(Array.from(bytes, (b) => String.fromCharCode(b)).join(""));
  return base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
};
const unpacked = async (words) => {
  const bytes = Uint8Array.from(atob(words.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
  return new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw")));
};

for (const [group, models] of Object.entries(saltusModels)) {
  const list = document.createElement("optgroup");
  list.label = group;
  for (const name of Object.keys(models)) list.append(new Option(name, `${group}/${name}`));
  at("example").append(list);
}
const choose = (path) => {
  const [group, name] = path.split("/");
  at("example").value = path;
  edit(saltusModels[group][name]);
};
at("example").addEventListener("change", () => {
  options.value = "";
  choose(at("example").value);
  history.replaceState(null, "", "#example=" + at("example").value);
});

// What the link asks for: #example=gallery/StickSlip, or #model=TEXT&options=WORDS, as Copy link makes it.
const readLink = async () => {
  const asked = new URLSearchParams(location.hash.slice(1));
  const [group, name] = (asked.get("example") ?? "").split("/");
  options.value = asked.get("options") ?? "";
  if (asked.has("model")) {
    at("example").selectedIndex = -1;
    try {
      edit(await unpacked(asked.get("model")));
    } catch {
      edit("");
      output.textContent = "The model in this link is damaged: it may have been cut off.";
    }
  } else {
    choose(saltusModels[group]?.[name] ? `${group}/${name}` : "gallery/StickSlip");
  }
};
at("link").addEventListener("click", async () => {
  const words = new URLSearchParams({ model: await packed(text.value) });
  if (options.value.trim()) words.set("options", options.value.trim());
  history.replaceState(null, "", "#" + words);
  try {
    await navigator.clipboard.writeText(location.href);
    tell("the link is copied", document.documentElement.dataset.state);
  } catch {
    tell("the link stands in the address line", document.documentElement.dataset.state);
  }
});
addEventListener("hashchange", readLink);

// --- runs

// Words as in a shell: quotes keep blanks together.
const wordsOf = (line) =>
  (line.match(/(?:[^\s"']|"[^"]*"|'[^']*')+/g) ?? []).map((word) => word.replace(/"([^"]*)"|'([^']*)'/g, "$1$2"));

const show = (link) => (links.push(link), link);
const finish = ({ code, report: page, files }) => {
  const time = performance.now() - began;
  const spent = time < 1000 ? `${time.toFixed(0)} ms` : `${(time / 1000).toFixed(1)} s`;
  const words =
    code === 0 ? `done in ${spent}` : code === 1 ? `ended early, after ${spent}` : "not run: see the output";
  links.forEach((link) => URL.revokeObjectURL(link));
  links = [];
  const made = page ? [{ name: modelName() + ".html", bytes: page }, ...files] : files;
  at("files").replaceChildren(...made.map(({ name, bytes }) => {
    const link = document.createElement("a");
    link.href = show(URL.createObjectURL(new Blob([bytes], { type: name.endsWith(".html") ? "text/html" : "" })));
    link.download = link.textContent = name;
    return link;
  }));
  report.hidden = !page;
  at("hint").hidden = Boolean(page);
  if (page) report.src = show(URL.createObjectURL(new Blob([page], { type: "text/html" })));
  if (page && matchMedia("(max-width: 900px)").matches) report.scrollIntoView(); // it stands below the text
  tell(words, "done", code !== 0);
};

const startWorker = () => {
  const url = URL.createObjectURL(new Blob([`(${saltusWorker})()`], { type: "text/javascript" }));
  worker = new Worker(url);
  URL.revokeObjectURL(url);
  worker.onmessage = ({ data }) => {
    if (data.ready) {
      tell("ready", "ready");
    } else if (data.failure) {
      worker.terminate();
      startWorker();
      output.textContent += `The solver failed: ${data.failure}\n`;
      tell("failed", "done", true);
    } else if (data.line !== undefined) {
      output.textContent += data.line + "\n";
      if (data.error) noteProblem(data.line);
    } else {
      finish(data);
    }
  };
  worker.onerror = (problem) => tell(`this browser cannot run the solver: ${problem.message}`, "absent", true);
};

at("run").addEventListener("click", () => {
  forget();
  numberLines();
  output.textContent = "";
  at("files").replaceChildren();
  began = performance.now();
  tell("running …", "running");
  worker.postMessage({ name: modelName() + ".mo", text: text.value, options: wordsOf(options.value) });
});
at("stop").addEventListener("click", () => {
  worker.terminate();
  tell("loading the solver …", "loading");
  output.textContent += "stopped\n";
  startWorker();
});
addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  at("run").click();
});

tell("loading the solver …", "loading");
readLink();
const script = document.createElement("script");
script.src = "solver.js";
script.onload = startWorker;
script.onerror = () => {
  tell("this copy of the site has no solver", "absent", true);
  at("hint").textContent = "This copy of the site was built without the solver, which " +
    "scripts/make_browser.sh builds. Save the text as a file and run it with ./run FILE.mo.";
};
document.head.append(script);
})();
