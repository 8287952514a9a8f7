// Runs models with the solver of the page, in Node.js instead of a worker: node solver_test.cjs SOLVER.js RESULTS.json
// MODEL.mo … Writes {name: {code, lines, errors, result}}, with the JSON file of each run as its result.
const { readFileSync, writeFileSync } = require("node:fs");
const { basename } = require("node:path");

const [solver, results, ...models] = process.argv.slice(2);
const self = {};
const begin = new Function("self", "require", "__dirname", "__filename",
  readFileSync(solver, "utf8") + "\nreturn saltusWorker;")(self, require, __dirname, __filename);

const answers = {};
const next = () => {
  const file = models.shift();
  if (!file) return writeFileSync(results, JSON.stringify(answers));
  const name = basename(file), answer = (answers[name] = { lines: [], errors: [] });
  self.postMessage = (data) => {
    if (data.line !== undefined) return void (data.error ? answer.errors : answer.lines).push(data.line);
    if (data.failure) throw new Error(`${name}: ${data.failure}`);
    answer.code = data.code;
    answer.report = data.report.length;
    const made = data.files.find((item) => item.name === "result.json");
    answer.result = made && JSON.parse(new TextDecoder().decode(made.bytes));
    setImmediate(next);
  };
  self.onmessage({ data: { name, text: readFileSync(file, "utf8"), options: ["--json", "result.json"] } });
};
self.postMessage = (data) => {
  if (!data.ready) throw new Error(data.failure);
  next();
};
begin();
