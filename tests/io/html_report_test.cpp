// The page of a run: what is in it, that it is safe, and that its curves are those of the dense output. tests/html
// opens it in a browser.
#include <gtest/gtest.h>
#include <saltus/io/html_report.hpp>
#include <saltus/modelica/modelica.hpp>
#include <saltus/saltus.hpp>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numbers>
#include <random>
#include <sstream>

namespace saltus {
namespace {

using Json = nlohmann::json;

std::string page_of(const Trajectory& run, const HtmlReportOptions& options = {}) {
  std::ostringstream out;
  write_html_report(out, run, options);
  return out.str();
}

std::string data_text(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"run\">";
  const auto from = page.find(begin) + begin.size();
  return page.substr(from, page.find("</script>", from) - from);
}
Json data_of(const std::string& page) {
  return Json::parse(data_text(page));
}

std::vector<std::uint8_t> bytes_of(const std::string& text) {
  const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<std::uint8_t> bytes;
  unsigned word = 0;
  int bits = 0;
  for (const char c : text) {
    if (c == '=') break;
    word = word << 6 | static_cast<unsigned>(letters.find(c));
    bits += 6;
    if (bits >= 8) bytes.push_back(static_cast<std::uint8_t>(word >> (bits -= 8) & 255));
  }
  return bytes;
}
template <class Number>
std::vector<double> numbers_of(const std::string& text) {
  const auto bytes = bytes_of(text);
  std::vector<Number> numbers(bytes.size() / sizeof(Number));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(Number));
  return {numbers.begin(), numbers.end()};
}

/// A curve as the script of the page sees it.
struct Curve {
  std::vector<double> t, y, m;

  explicit Curve(const Json& v) : t(numbers_of<double>(v["t"])), y(numbers_of<float>(v["y"])) {
    for (double& value : y) value = v["offset"].get<double>() + v["scale"].get<double>() * value;
    if (!v.contains("m")) return;
    m = numbers_of<float>(v["m"]);
    for (double& slope : m) slope *= v["scale"].get<double>();
  }
  double at(double x) const {
    const auto j =
        std::max<std::size_t>(1, static_cast<std::size_t>(std::lower_bound(t.begin(), t.end(), x) - t.begin()));
    const double h = t[j] - t[j - 1], s = (x - t[j - 1]) / h, r = 1.0 - s;
    if (m.empty()) return y[j - 1] * r + y[j] * s;
    return y[j - 1] * r * r * (1.0 + 2.0 * s) + y[j] * s * s * (3.0 - 2.0 * s) + h * s * r * (m[j - 1] * r - m[j] * s);
  }
};

Trajectory ball(double stop = 10.0) {
  Model m("ball");
  const Expr h = m.variable("h", 10.0, {.unit = "m"}), v = m.variable("v", 0.0, {.unit = "m/s"});
  m.equation(der(h) == v);
  m.equation(der(v) == -9.81);
  m.when(h < 0.0).reset(v, -0.9 * v);
  return simulate(m, {.stop = stop, .rtol = 1e-8, .atol = 1e-8});
}

/// Large offset, small motion; a fast and a slow part; sliding; a discrete variable.
Trajectory mixture(double start = 0.0, double stop = 20.0) {
  Model m("mixture");
  const Expr x = m.variable("x", 1e6 + 1e-2), v = m.variable("v", 0.0), y = m.variable("y", 1.0),
             z = m.variable("z", 0.3);
  const Expr count = m.discrete("count", 0.0);
  m.equation(der(x) == v);
  m.equation(der(v) == -30.0 * (x - 1e6));
  m.equation(der(y) == -0.2 * y + sin(m.time()));
  m.equation(der(z) == 0.6 * sin(2.0 * m.time()) - 0.4 * sign(z));
  m.when(y > 0.0).assign(count, m.pre(count) + 1.0);
  return simulate(m, {.start = start, .stop = stop, .rtol = 1e-7, .atol = 1e-9});
}

void expect_curves_within(const Trajectory& run, double share) {
  const Json data = data_of(page_of(run));
  ASSERT_EQ(data["variables"].size(), run.variables().size());
  std::mt19937 random(7);
  const double low = std::min(run.t_start(), run.t_end()), high = std::max(run.t_start(), run.t_end());
  std::uniform_real_distribution<double> times(low, high);
  std::vector<Curve> curves;
  for (const auto& v : data["variables"]) curves.emplace_back(v);
  std::vector<double> worst(curves.size());
  for (int n = 0; n < 4000; ++n) {
    const double t = times(random);
    const auto exact = run.at(t);
    for (std::size_t k = 0; k < curves.size(); ++k) worst[k] = std::max(worst[k], std::abs(curves[k].at(t) - exact[k]));
  }
  for (std::size_t k = 0; k < curves.size(); ++k) {
    const double range = 2.0 * data["variables"][k]["scale"].get<double>();
    // 1e-5 was tested at a few points of each piece; between them a cubic may be off by a little more. 32-bit values
    // add 6e-8.
    EXPECT_LE(worst[k], 1.5 * share * range) << run.variables()[k].name;
  }
}

TEST(HtmlReport, CurvesStayWithinTheirShareOfTheRangeAtRandomTimes) {
  expect_curves_within(ball(), 1e-5);
  expect_curves_within(mixture(), 1e-5);
}

TEST(HtmlReport, CurvesOfTheWholeGalleryStayWithinTheirShareToo) {
  for (const auto& entry : std::filesystem::directory_iterator(SALTUS_GALLERY)) {
    if (entry.path().extension() != ".mo") continue;  // the same models in Python
    SCOPED_TRACE(entry.path().filename().string());
    const ModelicaModel source = load_modelica_file(entry.path().string());
    const double tolerance = source.experiment.tolerance.value_or(1e-6);
    expect_curves_within(
        simulate(source.model, {.stop = source.experiment.stop.value_or(1.0), .rtol = tolerance, .atol = tolerance}),
        1e-5);
  }
}

TEST(HtmlReport, WhatSwingsOftenInsideOfAStepIsFollowed) {
  Model m("fast");
  const Expr x = m.variable("x", 0.0), y = m.variable("y", 0.0);
  m.equation(der(x) == 1.0);
  m.equation(y == sin(100.0 * x));
  const Trajectory run = simulate(m, {.stop = 10.0, .max_step = std::numbers::pi / 5.0});  // ten periods each
  ASSERT_LT(run.statistics().steps, 40);
  expect_curves_within(run, 1e-5);
}

TEST(HtmlReport, RunsThatGoBackwardsHaveTheSameCurves) {
  const Trajectory run = mixture(2.0, 0.5);
  expect_curves_within(run, 1e-5);
  const Json data = data_of(page_of(run));
  EXPECT_EQ(data["from"], 0.5);
  EXPECT_EQ(data["to"], 2.0);
  EXPECT_EQ(data["backwards"], true);
}

TEST(HtmlReport, AJumpIsTwoNodesAtTheTimeOfItsEvent) {
  const Trajectory run = ball();
  const Curve v(data_of(page_of(run))["variables"][1]);
  const Event& e = run.events().front();
  const auto place = std::lower_bound(v.t.begin(), v.t.end(), e.t) - v.t.begin();
  ASSERT_EQ(v.t[place], e.t);
  ASSERT_EQ(v.t[place + 1], e.t);
  EXPECT_NEAR(v.y[place], e.before[1], 1e-5);
  EXPECT_NEAR(v.y[place + 1], e.after[1], 1e-5);
}

TEST(HtmlReport, EventsAreToldInWords) {
  const Json data = data_of(page_of(ball(2.0)));
  ASSERT_EQ(data["events"].size(), 1u);
  EXPECT_EQ(data["events"][0]["kind"], "reset");
  const std::string text = data["events"][0]["lines"].dump();
  EXPECT_NE(text.find("h < 0 becomes true"), std::string::npos) << text;
  EXPECT_NE(text.find("v jumps from -14.007"), std::string::npos) << text;
  EXPECT_NE(text.find(" m/s"), std::string::npos) << text;
}

TEST(HtmlReport, HostileTextsStayTexts) {
  const std::string evil = "</script><script>alert(1)</script><!--", quotes = "\"'&<>\\ \xff\xfe", huge(10'000, 'x');
  Model m(evil);
  const Expr a = m.variable(evil, 1.0, {.unit = "</style>", .description = quotes}), b = m.variable(huge, 1.0);
  m.equation(der(a) == -a);
  m.equation(der(b) == -b);
  m.when(a < 0.5).reset(a, 1.0);
  const Trajectory run = simulate(m, {.stop = 2.0});
  const std::string page = page_of(
      run,
      {.model = evil, .description = quotes, .source = evil + "\n" + quotes, .source_file = "x.mo", .notes = {evil}});
  EXPECT_EQ(data_text(page).find('<'), std::string::npos);
  EXPECT_EQ(page.find("alert(1)</script>"), std::string::npos);
  std::size_t scripts = 0;
  for (auto p = page.find("<script"); p != std::string::npos; p = page.find("<script", p + 1)) ++scripts;
  EXPECT_EQ(scripts, 2u);
  const Json data = data_of(page);
  EXPECT_EQ(data["variables"][0]["name"], evil);
  EXPECT_LT(data["variables"][1]["name"].get<std::string>().size(), 2'100u);  // a name has an end
  EXPECT_NE(page.find("<title>&lt;/script&gt;"), std::string::npos);
}

TEST(HtmlReport, ThePageForbidsRequestsAndNamesItsOwnScriptOnly) {
  const std::string page = page_of(ball(1.0), {.model = "ball"});
  const auto from = page.find("Content-Security-Policy"), to = page.find('>', from);
  const std::string policy = page.substr(from, to - from);
  EXPECT_NE(policy.find("default-src 'none'"), std::string::npos);
  EXPECT_NE(policy.find("script-src 'sha256-"), std::string::npos);
  EXPECT_EQ(policy.find("unsafe"), std::string::npos);
  EXPECT_EQ(page.find("http://www.w3.org"),
            page.rfind("http"));  // the name of SVG is no address, and there is no other
  EXPECT_EQ(page.find('@', page.find("<body>")), std::string::npos);  // no place of the frame is left open
}

constexpr const char* source = R"(model Fall "falls on the floor"
  Real h(start = 1, fixed = true), v(start = 0, fixed = true);
equation
  der(h) = v;
  der(v) = -10;
  when h < 0 then
    reinit(v, -0.5*pre(v));
  end when;
end Fall;
)";

TEST(HtmlReport, ShowsTheSourceAndItsLinesWithoutFoldersOfTheMachine) {
  const std::string path = "/srv/secret folder/Fall.mo";
  const ModelicaModel model = load_modelica(source, path);
  EXPECT_EQ(model.description, "falls on the floor");
  const auto compiled = std::make_shared<CompiledModel>(model.model);
  const Trajectory run = simulate(compiled, {.stop = 1.0});
  const std::string page =
      page_of(run, {.model = "Fall", .source = source, .source_file = path, .system = compiled.get()});
  EXPECT_EQ(page.find("secret"), std::string::npos);
  const Json data = data_of(page);
  EXPECT_EQ(data["source"]["file"], "Fall.mo");
  EXPECT_EQ(data["events"][0]["places"], Json::array({6}));
  EXPECT_EQ(data["structure"][0]["columns"].size(), 2u);
  EXPECT_EQ(data["structure"][0]["freedom"], 2);
}

TEST(HtmlReport, ModesAreABandAndAGraph) {
  Model m("relay");
  const Expr x = m.variable("x", 1.0);
  m.equation(der(x) == if_else(m.time() < 3.0, -sign(x), Expr(1.0)));
  const Trajectory run = simulate(m, {.stop = 4.0});
  const Json modes = data_of(page_of(run))["modes"];
  double duration = 0.0;
  for (const auto& n : modes["nodes"]) duration += n["duration"].get<double>();
  EXPECT_NEAR(duration, 4.0, 1e-12);
  ASSERT_GE(modes["band"].size(), 3u);
  EXPECT_NEAR(modes["band"][0][1].get<double>(), 1.0, 1e-6);  // from 1 to 0 with slope -1
  EXPECT_GE(modes["edges"].size(), 2u);
}

TEST(HtmlReport, ACounterMakesNoModes) {
  const Json modes = data_of(page_of(mixture(0.0, 100.0)))["modes"];
  EXPECT_LT(modes["nodes"].size(), 8u);
}

TEST(HtmlReport, AFailedRunTellsItsReason) {
  Model m("root");
  const Expr x = m.variable("x", 1.0);
  m.equation(der(x) == -sqrt(x) - 0.1);
  const Trajectory run = simulate(m, {.stop = 10.0});
  ASSERT_FALSE(run.status().ok());
  const Json data = data_of(page_of(run));
  EXPECT_EQ(data["status"]["ok"], false);
  EXPECT_FALSE(data["status"]["message"].get<std::string>().empty());
  EXPECT_FALSE(data["status"]["advice"].get<std::string>().empty());
  EXPECT_LT(data["to"].get<double>(), 10.0);
}

TEST(HtmlReport, ARunThatNeverStartedHasAPageToo) {
  Model m("none");
  const Expr x = m.variable("x", 1.0);
  m.equation(x * x == -1.0);
  const Trajectory run = simulate(m, {.stop = 1.0});
  ASSERT_FALSE(run.status().ok());
  EXPECT_EQ(data_of(page_of(run))["status"]["code"], "initialisation_failed");
}

TEST(HtmlReport, ManyEventsAreThinnedOutAndThePageSaysSo) {
  Model m("clock");
  const Expr x = m.variable("x", 0.0), s = m.discrete("s", 1.0);
  m.equation(der(x) == s);
  m.when(m.sample(0.5, 1.0)).assign(s, -m.pre(s));
  const Trajectory run = simulate(m, {.stop = 20'000.0});
  ASSERT_GE(run.events().size(), 20'000u);
  const std::string page = page_of(run, {.most_nodes = 2'000, .most_events = 100});
  const Json data = data_of(page);
  EXPECT_EQ(data["events"].size(), 100u);
  EXPECT_EQ(data["event_count"], run.events().size());
  EXPECT_EQ(numbers_of<double>(data["marks"]["t"]).size(), run.events().size() - 100u);
  const Json& v = data["variables"][0];
  EXPECT_EQ(v["kind"], "envelope");
  const Curve curve(v);
  EXPECT_LE(curve.t.size(), 2'000u);
  EXPECT_NEAR(*std::max_element(curve.y.begin(), curve.y.end()), 0.5, 1e-6);
  EXPECT_NEAR(*std::min_element(curve.y.begin(), curve.y.end()), -0.5, 1e-6);
  EXPECT_LT(page.size(), 600'000u);
}

// A value that is nothing but rounding errors: cubics follow none of it, however short they are. Every further node
// costs several values of the dense output, which are solutions of equations in modes with constraints.
TEST(HtmlReport, RoundingErrorsAreDrawnByTheirRange) {
  Model m("noise");
  const Expr x = m.variable("x", 0.3), v = m.variable("v", 0.0), noise = m.variable("noise");
  m.equation(der(x) == v);
  m.equation(der(v) == -x);
  m.equation(noise == (1.0 + x) - 1.0 - x);
  const Trajectory run = simulate(m, {.stop = 3.0, .rtol = 1e-8});
  ASSERT_TRUE(run.status().ok());
  std::size_t steps = 0;
  for (const auto& segment : run.segments()) steps += segment.steps.size();
  const Json variables = data_of(page_of(run, {.variables = {"x", "noise"}}))["variables"];
  const Json& smooth = variables[0];
  const Json& rough = variables[1];
  EXPECT_EQ(smooth["kind"], "cubic");
  EXPECT_EQ(rough["kind"], "envelope");
  const Curve curve(rough);
  EXPECT_LE(curve.t.size(), 3 * steps + 1);  // with cubics there were 4096 nodes a step
  for (const double y : curve.y) EXPECT_LT(std::abs(y), 1e-15);
  EXPECT_GT(*std::max_element(curve.y.begin(), curve.y.end()), 1e-17);  // it is noise
}

TEST(HtmlReport, RefusesUnknownVariables) {
  EXPECT_THROW(page_of(ball(1.0), {.variables = {"w"}}), UsageError);
  EXPECT_THROW(page_of(ball(1.0), {.phase_x = "h", .phase_y = "w"}), UsageError);
}

TEST(HtmlReport, TheSameRunGivesTheSameBytes) {
  const Trajectory run = mixture();
  EXPECT_EQ(page_of(run), page_of(run));
}

}  // namespace
}  // namespace saltus
