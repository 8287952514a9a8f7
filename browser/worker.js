// What runs beside the page: one run for each message {name, text, options}. Lines of output come as {line, error}, at
// the end {code, report, files}; before the first run {ready} or {failure}. `createSaltus` and `solver`, the compressed
// WebAssembly in base64, stand before this text (scripts/pack_browser.py).
const bytesOf = async (base64) => {
  const packed = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
};

const start = async () => {
  const say = (error) => (line) => self.postMessage({ line, error });
  const program = await createSaltus({ wasmBinary: await bytesOf(solver), print: say(false), printErr: say(true) });
  const { FS } = program;
  FS.mkdir("/run");
  FS.chdir("/run");
  self.onmessage = ({ data: { name, text, options } }) => {
    for (const file of FS.readdir("/run").filter((n) => !n.startsWith("."))) FS.unlink(file);
    FS.writeFile(name, text);
    const report = "report.html";
    const lines = ["run", name, "--html", report, "--no-plot", ...options];
    let code;
    try {
      code = program.ccall("saltus_command", "number", ["string"], [lines.join("\n")]);
    } catch (problem) {
      self.postMessage({ failure: String(problem) }); // no memory, or no stack: the next run needs a new worker
      return;
    }
    const files = FS.readdir("/run").filter((n) => !n.startsWith(".") && n !== name && n !== report)
      .map((n) => ({ name: n, bytes: FS.readFile(n) }));
    const page = FS.analyzePath(report).exists ? FS.readFile(report, { encoding: "utf8" }) : "";
    self.postMessage({ code, report: page, files });
  };
  self.postMessage({ ready: true });
};

start().catch((problem) => self.postMessage({ failure: String(problem) }));
