// All back ends must give the same bits. The reference is the plain interpreter with one lane.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>
#include <saltus/program/program.hpp>

#include <atomic>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <set>

#include "program/interpreter.hpp"
#include "program/native_code.hpp"
#include "allocations.hpp"
#include "c_functions.hpp"
#include "random_graph.hpp"

// Counts the allocations of this test program. Not inlined: the compiler would take the pair of malloc and free for a
// mismatch.
static std::atomic<std::size_t> allocations = 0;
std::size_t saltus::test::allocation_count() {
  return allocations;
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size);
}
[[gnu::noinline]] void* operator new(std::size_t size) {
  if (void* p = operator new(size, std::nothrow)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept {
  std::free(p);
}
void* operator new[](std::size_t size) {
  return operator new(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return operator new(size, std::nothrow);
}
void operator delete(void* p, std::size_t) noexcept {
  operator delete(p);
}
void operator delete(void* p, const std::nothrow_t&) noexcept {
  operator delete(p);
}
void operator delete[](void* p) noexcept {
  operator delete(p);
}
void operator delete[](void* p, std::size_t) noexcept {
  operator delete(p);
}
void operator delete[](void* p, const std::nothrow_t&) noexcept {
  operator delete(p);
}

namespace saltus {
namespace {

using test::Random;

/// Doubles that end at an unmapped page, so that reading or writing past them stops the test.
class GuardedArray {
 public:
  explicit GuardedArray(std::size_t capacity) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    bytes_ = (capacity * sizeof(double) / page + 1) * page;
    memory_ =
        static_cast<char*>(mmap(nullptr, bytes_ + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_NE(memory_, MAP_FAILED);
    EXPECT_EQ(mprotect(memory_ + bytes_, page, PROT_NONE), 0);
    size_ = bytes_ + page;
  }
  GuardedArray(const GuardedArray&) = delete;
  GuardedArray& operator=(const GuardedArray&) = delete;
  ~GuardedArray() { munmap(memory_, size_); }
  double* last(std::size_t n) const { return reinterpret_cast<double*>(memory_ + bytes_) - n; }

 private:
  char* memory_;
  std::size_t bytes_, size_;
};

using Groups = std::vector<std::vector<double>>;

bool same_bits(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

std::string difference(const Groups& expected, const Groups& found) {
  for (std::size_t g = 0; g < expected.size(); ++g)
    for (std::size_t k = 0; k < expected[g].size(); ++k)
      if (!same_bits(expected[g][k], found[g][k])) {
        char text[128];
        std::snprintf(text, sizeof text, "output %zu[%zu]: %a expected, %a found", g, k, expected[g][k], found[g][k]);
        return text;
      }
  return "";
}

/// `count` columns out of arrays with `from` lanes.
Groups columns(const Groups& all, std::size_t from, std::size_t first, std::size_t count) {
  Groups result;
  for (const auto& group : all) {
    auto& values = result.emplace_back();
    for (std::size_t k = 0; k < group.size() / from; ++k)
      for (std::size_t l = 0; l < count; ++l) values.push_back(group[k * from + first + l]);
  }
  return result;
}

Groups run_interpreter(const Tape& tape, const Groups& in, int lanes, void (*interpreter)(const Tape&, double*, int)) {
  const auto width = static_cast<std::size_t>(lanes);
  std::vector<double> memory(tape.slots() * width + 8, 0.5);
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  double* const frame = memory.data() + (64 - address % 64) % 64 / sizeof(double);
  double* p = frame;
  for (const double c : tape.constants) p = std::fill_n(p, lanes, c);
  for (const auto& group : in) p = std::copy(group.begin(), group.end(), p);
  interpreter(tape, frame, lanes);
  Groups out;
  for (const auto& group : tape.outputs) {
    auto& values = out.emplace_back();
    for (const std::uint32_t s : group) values.insert(values.end(), frame + s * width, frame + (s + 1) * width);
  }
  return out;
}

/// Runs native code with all its arrays before unmapped pages.
class NativeRunner {
 public:
  Groups operator()(const Tape& tape, const NativeCode& code, const Groups& in, int lanes) {
    const auto width = static_cast<std::size_t>(lanes);
    std::vector<const double*> ins;
    std::vector<double*> outs;
    std::size_t k = 0;
    for (const auto& group : in) {
      double* const p = array(k++, group.size());
      std::copy(group.begin(), group.end(), p);
      ins.push_back(p);
    }
    for (const auto& group : tape.outputs) {
      outs.push_back(array(k++, group.size() * width));
      std::fill_n(outs.back(), group.size() * width, 0.125);
    }
    double* const memory = array(k, (tape.temporaries + tape.scratch) * width);
    code.entry()(ins.data(), outs.data(), memory);
    Groups out;
    for (std::size_t g = 0; g < outs.size(); ++g) out.emplace_back(outs[g], outs[g] + tape.outputs[g].size() * width);
    return out;
  }

 private:
  double* array(std::size_t k, std::size_t size) {
    while (arrays_.size() <= k) arrays_.push_back(std::make_unique<GuardedArray>(capacity));
    if (size > capacity) throw std::length_error("NativeRunner: array too large");
    return arrays_[k]->last(size);
  }
  static constexpr std::size_t capacity = 80000;
  std::vector<std::unique_ptr<GuardedArray>> arrays_;
};

/// Compares all back ends for inputs with eight lanes; returns what differs.
std::string compare_back_ends(const Tape& tape, const Groups& in8, NativeRunner& native) {
  const Groups reference = run_interpreter(tape, in8, 8, interpret_generic);
  const auto native1 = make_native_code(tape, 1), native4 = make_native_code(tape, 4);
  const auto native8 = make_native_code(tape, 8), halves8 = make_native_code(tape, 8, EightLanes::halves);
  std::string text;
  const auto check = [&](const char* what, std::size_t first, std::size_t count, auto run) {
    if (!text.empty()) return;
    const std::string d = difference(columns(reference, 8, first, count), run(columns(in8, 8, first, count)));
    if (!d.empty()) text = std::string(what) + ": " + d + "\n" + to_string(tape);
  };
  if (native_code_available() && !(native1 && native4 && native8 && halves8)) return "no native code";
  if (native8) check("native, 8 lanes", 0, 8, [&](const Groups& in) { return native(tape, *native8, in, 8); });
  if (halves8)
    check("native, 8 lanes in halves", 0, 8, [&](const Groups& in) { return native(tape, *halves8, in, 8); });
  for (std::size_t lane = 0; lane < 8; ++lane) {
    if (native1) check("native", lane, 1, [&](const Groups& in) { return native(tape, *native1, in, 1); });
    if (lane % 4 == 0 && native4)
      check("native, 4 lanes", lane, 4, [&](const Groups& in) { return native(tape, *native4, in, 4); });
    if (lane > 1) continue;
    check("interpreter", lane, 1, [&](const Groups& in) { return run_interpreter(tape, in, 1, interpret_generic); });
    if (cpu_has_avx2_fma())
      check("AVX2 interpreter", lane, 1,
            [&](const Groups& in) { return run_interpreter(tape, in, 1, interpret_avx2); });
  }
  check("interpreter, 4 lanes", 4, 4,
        [&](const Groups& in) { return run_interpreter(tape, in, 4, interpret_generic); });
  if (cpu_has_avx2_fma()) {
    check("AVX2, 4 lanes", 4, 4, [&](const Groups& in) { return run_interpreter(tape, in, 4, interpret_avx2); });
    check("AVX2, 8 lanes", 0, 8, [&](const Groups& in) { return run_interpreter(tape, in, 8, interpret_avx2); });
  }
  return text;
}

Groups random_inputs(Random& random, const Tape& tape, bool specials, std::size_t lanes = 8) {
  Groups in;
  for (const std::uint32_t size : tape.input_sizes) {
    auto& group = in.emplace_back();
    for (std::size_t k = 0; k < size * lanes; ++k) group.push_back(random_value(random, specials));
  }
  return in;
}

void expect_agreement_on_random_graphs(std::uint64_t seed, int count) {
  Random random(seed);
  NativeRunner native;
  std::set<Op> seen;
  for (int k = 0; k < count; ++k) {
    const auto r = random_graph(random, {.operations = 1 + random.below(k % 10 == 0 ? 400 : 60)});
    const LowerOptions options{.fuse = !random.chance(4), .reuse_slots = !random.chance(4)};
    const Tape tape = lower(r.inputs, r.outputs, options);
    for (const Instruction& i : tape.code) seen.insert(i.op);
    const std::string text = compare_back_ends(tape, random_inputs(random, tape, random.chance(2)), native);
    ASSERT_EQ(text, "") << "graph " << k << " of seed " << seed;
  }
  EXPECT_EQ(seen.size(), test::instructions().size());
}

TEST(NativeCodeFuzz, BackEndsAgreeOnRandomGraphsPartOne) {
  expect_agreement_on_random_graphs(1, 25000);
}
TEST(NativeCodeFuzz, BackEndsAgreeOnRandomGraphsPartTwo) {
  expect_agreement_on_random_graphs(2, 25000);
}
TEST(NativeCodeFuzz, BackEndsAgreeOnRandomGraphsPartThree) {
  expect_agreement_on_random_graphs(3, 25000);
}
TEST(NativeCodeFuzz, BackEndsAgreeOnRandomGraphsPartFour) {
  expect_agreement_on_random_graphs(4, 25000);
}

TEST(NativeCodeFuzz, BackEndsAgreeOnTapesThatNoGraphGives) {
  Random random(5);
  NativeRunner native;
  for (int k = 0; k < 20000; ++k) {
    const Tape tape = test::random_tape(random, 1 + random.below(k % 10 == 0 ? 300 : 30));
    ASSERT_EQ(compare_back_ends(tape, random_inputs(random, tape, true), native), "") << "tape " << k;
  }
}

// Every operation with every choice of special operands; and with operands that are equal, constant, or needed again.
TEST(NativeCode, EveryOperationAgreesOnSpecialValues) {
  NativeRunner native;
  const auto& specials = test::special_values();
  for (const Op op : test::instructions()) {
    if (op == Op::external) continue;
    const int operands = operand_count(op);
    for (const std::vector<std::uint32_t>& slots : {std::vector<std::uint32_t>{2, 3, 4},
                                                    {2, 2, 2},
                                                    {2, 2, 3},
                                                    {2, 3, 2},
                                                    {3, 2, 2},
                                                    {0, 2, 3},
                                                    {2, 0, 3},
                                                    {2, 3, 0},
                                                    {2, 1, 0}}) {
      for (const bool again : {false, true}) {
        Tape tape;
        tape.constants = {0.0, 1.0};
        tape.input_sizes = {3};
        tape.temporaries = 2;
        tape.code = {{op, 5, slots[0], slots[1], slots[2]}};
        if (again) tape.code.push_back({Op::add, 6, slots[0], slots[static_cast<std::size_t>(operands) - 1], 0});
        tape.outputs = {{5}};
        if (again) tape.outputs[0].push_back(6);
        const std::size_t n = specials.size();
        for (std::size_t first = 0; first < n * n * n; first += 8) {
          Groups in(1, std::vector<double>(24));
          for (std::size_t l = 0; l < 8; ++l) {
            std::size_t k = (first + l) % (n * n * n);
            for (std::size_t j = 0; j < 3; ++j, k /= n) in[0][j * 8 + l] = specials[k % n];
          }
          // all triples once; the other arrangements are spot-checked
          if (first % 56 != 0 && (again || slots[0] != 2 || slots[1] != 3)) continue;
          ASSERT_EQ(compare_back_ends(tape, in, native), "") << info(op).name;
        }
      }
    }
  }
}

struct NativeCodeTest : ::testing::Test {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  Random random{11};
  NativeRunner native;

  std::vector<Expr> variables(const std::string& prefix, int n) {
    std::vector<Expr> list;
    for (int k = 0; k < n; ++k)
      list.emplace_back(graph, graph->symbol(prefix + std::to_string(k), SymbolKind::variable));
    return list;
  }
  void expect_agreement(const std::vector<std::vector<Expr>>& inputs, const std::vector<std::vector<Expr>>& outputs) {
    const Tape tape = lower(inputs, outputs);
    for (const bool specials : {false, false, true})
      EXPECT_EQ(compare_back_ends(tape, random_inputs(random, tape, specials), native), "");
  }
};

TEST_F(NativeCodeTest, MoreValuesThanRegisters) {
  const auto x = variables("x", 60);
  std::vector<Expr> squares, mixed;
  for (const Expr& e : x) squares.push_back(e * e + 1.0);
  Expr forward = 0.0, backward = 0.0;
  for (std::size_t k = 0; k < x.size(); ++k) forward += squares[k] * squares[(7 * k) % 60];
  for (std::size_t k = x.size(); k-- > 0;) backward = backward * 0.5 - squares[k] / squares[(k + 31) % 60];
  expect_agreement({x}, {{forward, backward, forward * backward}});
}

TEST_F(NativeCodeTest, ValuesSurviveCalls) {
  const auto x = variables("x", 20);
  std::vector<Expr> values;
  for (const Expr& e : x) values.push_back(e * x[0] - 0.25);
  Expr total = 0.0;
  for (const Expr& v : values) total += sin(v) * pow(abs(v), x[1]) + atan2(v, x[2]);
  for (const Expr& v : values) total += v;
  expect_agreement({x}, {{total}, values});
}

TEST_F(NativeCodeTest, ManyGroups) {
  for (const bool calls : {false, true}) {
    std::vector<std::vector<Expr>> inputs, outputs(5);
    for (int g = 0; g < 10; ++g) inputs.push_back(variables((calls ? "c" : "g") + std::to_string(g) + "_", 3));
    inputs.emplace_back();  // and an empty one
    for (std::size_t g = 0; g < 5; ++g)
      for (std::size_t k = 0; k < 3; ++k) {
        const Expr product = inputs[2 * g][k] * inputs[2 * g + 1][2 - k] + inputs[(3 * g) % 10][0];
        outputs[g].push_back(calls ? cos(product) - inputs[9][1] : product);
      }
    outputs.emplace_back();
    expect_agreement(inputs, outputs);
  }
}

TEST_F(NativeCodeTest, OutputsMayBeInputsConstantsAndEqual) {
  const auto x = variables("x", 3);
  const Expr y = x[0] * x[1];
  expect_agreement({x}, {{x[2], x[2], Expr(3.5), y, y, Expr(0.0), Expr(-0.0)}, {y, x[0], Expr(3.5), sin(x[2])}});
  expect_agreement({x}, {{x[0]}});
  expect_agreement({{}}, {{Expr(2.0)}});
}

TEST_F(NativeCodeTest, EmptyProgram) {
  expect_agreement({}, {});
  expect_agreement({variables("x", 2), {}}, {{}, {}});
}

TEST_F(NativeCodeTest, ExternalFunctionsThatThrowGiveNaN) {
  const auto x = variables("x", 1);
  const auto results = call(test::external_functions()[1], x);
  const std::vector<std::vector<Expr>> inputs{x}, outputs{{results[0], x[0] * 2.0}};
  for (const Backend backend : {Backend::interpreter, Backend::automatic}) {
    const Program p(inputs, outputs, {.backend = backend});
    Workspace w = p.workspace(4);
    const double in[] = {1.0, 3.0, 2.0, 5.0};
    double out[8];
    const double* ins[] = {in};
    double* const outs[] = {out};
    p(ins, outs, w);
    EXPECT_EQ(out[0], 2.0);
    EXPECT_TRUE(std::isnan(out[1]));
    EXPECT_EQ(out[2], 3.0);
    EXPECT_TRUE(std::isnan(out[3]));
    EXPECT_EQ(out[5], 6.0);
  }
}

TEST_F(NativeCodeTest, LongProgram) {
  auto pool = variables("x", 8);
  const auto x = pool;
  for (int k = 0; k < 20000; ++k) {
    const Expr a = pool[random.below(pool.size())], b = pool[pool.size() - 1 - random.below(8)];
    pool.push_back(k % 4 == 0   ? a / sqrt(b * b + 1.0)
                   : k % 4 == 1 ? a * b - 0.5
                   : k % 4 == 2 ? min(a, b)
                                : a - b * 0.25);
  }
  const std::vector<std::vector<Expr>> inputs{x}, outputs{{pool.end() - 500, pool.end()}};
  ASSERT_GT(lower(inputs, outputs).code.size(), 20000u);
  expect_agreement(inputs, outputs);
}

TEST_F(NativeCodeTest, ProgramUsesNativeCodeWhereItCan) {
  const auto x = variables("x", 2);
  const std::vector<std::vector<Expr>> inputs{x}, outputs{{x[0] * x[1] + sin(x[0])}};
  const Program p(inputs, outputs);
  if (native_code_available()) {
    EXPECT_EQ(p.backend(), Backend::native);
    EXPECT_GT(p.code_size(), 0u);
    EXPECT_EQ(Program(inputs, outputs, {.native_limit = 1}).backend(), Backend::interpreter);
  } else {
    EXPECT_EQ(p.backend(), Backend::interpreter);
    EXPECT_THROW(Program(inputs, outputs, {.backend = Backend::native}), UsageError);
  }
}

TEST_F(NativeCodeTest, EvaluationAllocatesNothing) {
  Random r(3);
  for (int k = 0; k < 50; ++k) {
    const auto g = random_graph(r, {.operations = 100, .external = k % 2 == 0});
    for (const Backend backend : {Backend::interpreter, Backend::automatic}) {
      const Program p(g.inputs, g.outputs, {.backend = backend});
      for (const int lanes : {1, 4, 8}) {
        Workspace w = p.workspace(lanes);
        const Groups in = random_inputs(r, p.tape(), false, static_cast<std::size_t>(lanes));
        Groups out;
        std::vector<const double*> ins;
        std::vector<double*> outs;
        for (const auto& group : in) ins.push_back(group.data());
        for (const auto& group : p.tape().outputs) out.emplace_back(group.size() * static_cast<std::size_t>(lanes) + 1);
        for (auto& group : out) outs.push_back(group.data());
        const bool throws = std::any_of(p.tape().calls.begin(), p.tape().calls.end(),
                                        [](const CallSite& c) { return c.function->name == "moody"; });
        if (throws) continue;  // making the exception allocates
        const std::size_t before = allocations;
        p(ins, outs, w);
        EXPECT_EQ(allocations, before);
      }
    }
  }
}

TEST(CSource, CompiledByACCompilerGivesTheSameBits) {
  if (std::system("cc --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no C compiler";
  const auto folder = std::filesystem::temp_directory_path() / ("saltus_c_source_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  Random random(9);
  constexpr int count = 60;
  std::vector<Program> programs;
  {
    std::ofstream file(folder / "programs.c");
    file << test::redirect_functions();
    for (int k = 0; k < count; ++k) {
      const auto g = random_graph(random, {.operations = 1 + random.below(120), .external = false});
      programs.emplace_back(g.inputs, g.outputs, ProgramOptions{.backend = Backend::interpreter});
      file << programs.back().c_source("f" + std::to_string(k));
    }
  }
  const std::string library = (folder / "programs.so").string();
  const std::string command =
      "cc -O1 -ffp-contract=off -shared -fPIC -o '" + library + "' '" + (folder / "programs.c").string() + "' -lm";
  ASSERT_EQ(std::system(command.c_str()), 0);
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(handle, nullptr) << dlerror();
  ASSERT_TRUE(test::give_functions(handle));
  for (int k = 0; k < count; ++k) {
    using Function = void (*)(const double* const*, double* const*);
    const auto function = reinterpret_cast<Function>(dlsym(handle, ("f" + std::to_string(k)).c_str()));
    ASSERT_NE(function, nullptr);
    const Tape& tape = programs[static_cast<std::size_t>(k)].tape();
    for (int repeat = 0; repeat < 20; ++repeat) {
      const Groups in = random_inputs(random, tape, repeat % 2 == 1, 1);
      const Groups expected = run_interpreter(tape, in, 1, interpret_generic);
      Groups found = expected;
      std::vector<const double*> ins;
      std::vector<double*> outs;
      for (const auto& group : in) ins.push_back(group.data());
      for (auto& group : found) {
        std::fill(group.begin(), group.end(), 0.125);
        outs.push_back(group.data());
      }
      function(ins.data(), outs.data());
      EXPECT_EQ(difference(expected, found), "") << "program " << k << "\n" << to_string(tape);
    }
  }
  dlclose(handle);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace saltus
