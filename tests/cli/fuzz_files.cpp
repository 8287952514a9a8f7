// Mutation fuzzing of files and words that come from elsewhere: inputs, results that are compared, tables, saved
// states, and the words that describe studies. Each is read, or refused with a message; memory stays bounded.
//
//   saltus_fuzz_files COUNT SEED      a deterministic run; prints how many of each kind were read
#include <sys/resource.h>
#include <unistd.h>
#include <saltus/base/error.hpp>
#include <saltus/io/compare_results.hpp>
#include <saltus/io/fit_files.hpp>
#include <saltus/io/input_file.hpp>
#include <saltus/io/result_files.hpp>
#include <saltus/io/state_file.hpp>
#include <saltus/saltus.hpp>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/study_spec.hpp"
#include "modelica/flatten/table_file.hpp"

namespace {

using namespace saltus;

/// Changes of some bytes, of parts, and of numbers.
class Mutator {
 public:
  explicit Mutator(unsigned seed) : dice_(seed) {}

  std::string operator()(std::string text) {
    const std::string original = text;
    for (std::size_t changes = 1 + below(4); changes > 0; --changes) change(text, original);
    return text;
  }
  std::size_t below(std::size_t size) {
    return size == 0 ? 0 : std::uniform_int_distribution<std::size_t>(0, size - 1)(dice_);
  }

 private:
  void change(std::string& text, const std::string& original) {
    static constexpr std::array<std::string_view, 24> words{
        "1e999", "-1e999", "nan", "inf", "-1", "0",  "99999999999999999999",
        "1e15",  "1e-320", "\"",  "'",   ",",  ";",  "\n",
        "\r",    "(",      "[[[", "{}",  "#1", "\t", "0x10",
        "\\",    "~",      "="};
    const std::size_t at = below(text.size() + 1), other = below(original.size() + 1);
    switch (below(8)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1U << below(8)));
        break;
      case 1:
        text.resize(at);
        break;
      case 2:
        text.insert(at, original.substr(other, 1 + below(60)));
        break;
      case 3:
        text.erase(at, 1 + below(40));
        break;
      case 4:
        text.insert(at, words[below(words.size())]);
        break;
      case 5:
        if (at < text.size()) text[at] = static_cast<char>(below(256));
        break;
      case 6: {  // a number of a binary file
        static constexpr std::array<std::uint32_t, 6> numbers{0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0x00010000};
        const std::uint32_t number = numbers[below(numbers.size())];
        for (std::size_t k = 0; k < 4 && at + k < text.size(); ++k)
          text[at + k] = static_cast<char>(number >> (8 * k) & 0xffU);
        break;
      }
      default:  // long
        text.insert(
            at, std::string(below(50) == 0 ? 200'000 : 1 + below(300), text.empty() ? '(' : text[below(text.size())]));
    }
  }

  std::mt19937 dice_;
};

struct Target {
  const char* name;
  std::string ending;             ///< of the file; empty: the text itself is read
  std::vector<std::string> good;  ///< what is changed
  std::function<void(const std::string& file_or_text)> read;
  long read_well = 0;
};

[[noreturn]] void give_up(const char* target, const char* what, const std::string& text) {
  std::fprintf(stderr, "%s: %s\n--- %zu bytes ---\n", target, what, text.size());
  std::fwrite(text.data(), 1, std::min<std::size_t>(text.size(), 4000), stderr);
  std::abort();
}

template <class Write>
std::string written(const Write& write) {
  std::ostringstream out;
  write(out);
  return out.str();
}

/// A ball that slides and bounces: what results and states of it look like.
Model slider() {
  Model m("slider");
  const Expr x = m.variable("x", 1.0), v = m.variable("v", 0.3), n = m.discrete("n", 0.0);
  m.equation(der(x) == v);
  m.equation(der(v) == -x - 0.4 * sign(v));
  m.when(x < 0.0).assign(n, m.pre(n) + 1.0);
  return m;
}

std::vector<Target> targets() {
  const auto compiled = std::make_shared<CompiledModel>(slider());
  Simulator run(compiled, {.stop = 2.0});
  run.run();
  const SimulatorState state = run.state();
  const Trajectory result = run.take();
  const ResultTable table = result_table(result, {.intervals = 8});
  const auto names = [&](const auto& write) { return written([&](std::ostream& out) { write(out); }); };
  std::vector<Target> all;
  all.push_back({"input",
                 ".csv",
                 {"time,u\n0,1\n0.5,2\n0.5,3\n1,-1e-3\n", "# note\n0;1\n1;2\n", "t,on,u\n0,true,1\n2,false,4\n"},
                 [](const std::string& file) { read_input(file, "u"); }});
  const auto compare = [](const std::string& file) { read_result(file); };
  all.push_back({"result.csv", ".csv", {names([&](auto& out) { write_csv(out, table); })}, compare});
  all.push_back({"result.mat", ".mat", {names([&](auto& out) { write_mat(out, table); })}, compare});
  all.push_back({"result.npz", ".npz", {names([&](auto& out) { write_npz(out, table); })}, compare});
  all.push_back({"result.json",
                 ".json",
                 {names([&](auto& out) { write_json(out, result, {.model = "slider", .trajectories = &table}); })},
                 compare});
  all.push_back(
      {"state", ".json", {names([&](auto& out) { write_state(out, state); })}, [compiled](const std::string& file) {
         Simulator again(compiled, {.stop = 2.5}, read_state(file));
         again.run();
         if (again.status().ok())
           for (const double value : again.values())
             if (!std::isfinite(value)) throw std::logic_error("a number that is none, with success");
       }});
  all.push_back({"events",
                 ".csv",
                 {"when h < 0,sigma(when h < 0)\n0.5,0.1\n1.5,0.1\n", "v > 1\n0.25\n"},
                 [](const std::string& file) { read_fit_events(file); }});
  all.push_back({"table of members",
                 ".csv",
                 {"a,x(start)\n1,0.5\n-1,2\n", "\"a\", b\n1e3,2\n\n3,4\n"},
                 [](const std::string& file) { cli::read_table(file); }});
  const auto matrix = [](const std::string& file) {
    try {
      modelica::read_table({file, "tab", ",", 0}, {});
    } catch (const modelica::Fault& fault) {
      throw UsageError(fault.message);
    }
  };
  all.push_back({"matrix.txt", ".txt", {"#1\ndouble tab(3,2) # note\n0 1\n1 2.5\n2,3\nfloat other(1,1)\n5\n"}, matrix});
  all.push_back({"matrix.csv", ".csv", {"0,1\n1,2.5\n2,3\n"}, matrix});
  all.push_back({"--over",
                 "",
                 {"omega=0.6:1.6:1000", "F=log:0.01:1:200", "n=1,2,5", "x(start)=-1:1:1e3"},
                 [](const std::string& text) { cli::parse_axis(text); }});
  all.push_back({"--random",
                 "",
                 {"v~normal(0,0.1)", "k~loguniform(0.1,10)", "a(start)~uniform(-2, 2*3.5)"},
                 [](const std::string& text) { cli::parse_random(text); }});
  all.push_back({"--shard", "", {"2/8", "0/3"}, [](const std::string& text) { cli::parse_shard(text); }});
  all.push_back(
      {"--members", "", {"1e6", "1000"}, [](const std::string& text) { cli::parse_count(text, "--members"); }});
  all.push_back({"--reduce", "", {"density:2000x1000", "density", "density:1e3x16"}, [](const std::string& text) {
                   cli::parse_reduce(text, "x", "y");
                 }});
  all.push_back({"--collect",
                 "",
                 {"final(x),vmax=max(abs(v)),count(x > 1)", "period(x), first(v < 0.1), sample(n)"},
                 [](const std::string& text) {
                   static const Model model = slider();
                   cli::ModelExtension extension(model);
                   std::vector<Collector> collectors;
                   extension.collect(text, collectors);
                 }});
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  const long count = argc > 1 ? std::atol(argv[1]) : 10'000;
  const auto seed = static_cast<unsigned>(argc > 2 ? std::atol(argv[2]) : 1);
#ifndef __SANITIZE_ADDRESS__
  const rlimit memory{rlim_t{4} << 30, rlim_t{4} << 30};  // a size that a file names is no reason to take more
  ::setrlimit(RLIMIT_AS, &memory);
#endif
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("saltus_fuzz_files_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  std::vector<Target> all = targets();
  Mutator mutate(seed);
  const auto given_as = [&](const Target& target, const std::string& text) {
    if (target.ending.empty()) return text.substr(0, text.find('\0'));  // arguments of a program end there
    const std::string file = (folder / ("x" + target.ending)).string();
    std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
    return file;
  };
  for (const Target& target : all)
    for (const std::string& text : target.good) target.read(given_as(target, text));
  for (long k = 0; k < count; ++k) {
    Target& target = all[static_cast<std::size_t>(k) % all.size()];
    const std::string text = mutate(target.good[mutate.below(target.good.size())]);
    try {
      target.read(given_as(target, text));
      ++target.read_well;
    } catch (const Error& refused) {
      if (std::string_view(refused.what()).size() < 10) give_up(target.name, "a refusal without words", text);
    } catch (const std::exception& problem) {
      give_up(target.name, problem.what(), text);
    }
  }
  std::filesystem::remove_all(folder);
  for (const Target& target : all)
    std::printf("%s: %ld of %ld read\n", target.name, target.read_well, count / static_cast<long>(all.size()));
  return 0;
}
