// Generators: Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled" (2016), in the public
// domain. A 64-bit word of a state stands in two Integers, the low half first.
#include "modelica/flatten/random.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

namespace saltus::modelica {

namespace {

using Words = std::vector<std::uint64_t>;

Words words_of(std::span<const std::int32_t> halves) {
  Words words(halves.size() / 2);
  for (std::size_t k = 0; k < words.size(); ++k)
    words[k] = static_cast<std::uint64_t>(static_cast<std::uint32_t>(halves[2 * k])) |
               static_cast<std::uint64_t>(static_cast<std::uint32_t>(halves[2 * k + 1])) << 32;
  return words;
}

void put(const Words& words, std::span<std::int32_t> halves) {
  for (std::size_t k = 0; k < words.size(); ++k) {
    halves[2 * k] = static_cast<std::int32_t>(static_cast<std::uint32_t>(words[k]));
    halves[2 * k + 1] = static_cast<std::int32_t>(static_cast<std::uint32_t>(words[k] >> 32));
  }
}

/// As a signed number, scaled to the open interval (0, 1).
double unit_number(std::uint64_t word) {
  constexpr double scale = 0x1p-64;
  return static_cast<double>(static_cast<std::int64_t>(word)) * scale + 0.5;
}

double next_64_star(std::span<const std::int32_t> state, std::span<std::int32_t> after) {
  std::uint64_t x = words_of(state)[0];
  x ^= x >> 12;
  x ^= x << 25;
  x ^= x >> 27;
  x *= 2685821657736338717ULL;
  put({x}, after);  // the library keeps the scrambled word
  return unit_number(x);
}

double next_128_plus(std::span<const std::int32_t> state, std::span<std::int32_t> after) {
  const Words words = words_of(state);
  std::uint64_t a = words[0];
  const std::uint64_t b = words[1];
  a ^= a << 23;
  const std::uint64_t last = (a ^ b ^ (a >> 17) ^ (b >> 26)) + b;
  put({b, last}, after);
  return unit_number(last);
}

double next_1024_star(std::span<const std::int32_t> state, std::span<std::int32_t> after) {
  constexpr std::size_t halves = 32, mask = 15;
  Words words = words_of(state.first(halves));
  const std::size_t at = static_cast<std::uint32_t>(state[halves]) & mask, next = (at + 1) & mask;
  std::uint64_t a = words[at], b = words[next];
  b ^= b << 31;
  b ^= b >> 11;
  a ^= a >> 30;
  words[next] = a ^ b;
  put(words, after.first(halves));
  after[halves] = static_cast<std::int32_t>(next);
  return unit_number(words[next] * 1181783497276652981ULL);
}

constexpr std::array generators{
    RandomGenerator{"ModelicaRandom_xorshift64star", 2, next_64_star},
    RandomGenerator{"ModelicaRandom_xorshift128plus", 4, next_128_plus},
    RandomGenerator{"ModelicaRandom_xorshift1024star", 33, next_1024_star},
};

}  // namespace

const RandomGenerator* random_generator(std::string_view c_function) {
  for (const RandomGenerator& generator : generators)
    if (generator.c_function == c_function) return &generator;
  return nullptr;
}

std::shared_ptr<const ExternalFunction> random_function(const RandomGenerator& generator) {
  const auto make = [](const RandomGenerator& g) {
    const int size = static_cast<int>(g.size);
    return std::make_shared<const ExternalFunction>(ExternalFunction{
        .name = std::string(g.c_function),
        .inputs = size,
        .outputs = size + 1,
        .values =
            [&g](std::span<const double> in, std::span<double> out) {
              std::vector<std::int32_t> state(g.size);
              for (std::size_t k = 0; k < g.size; ++k)
                state[k] = static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::int64_t>(in[k])));
              out[g.size] = g.next(state, state);
              for (std::size_t k = 0; k < g.size; ++k) out[k] = static_cast<double>(state[k]);
            },
        // it is constant between the Integers
        .jacobian = [](std::span<const double>, std::span<double> out) { std::ranges::fill(out, 0.0); }});
  };
  static const std::array functions{make(generators[0]), make(generators[1]), make(generators[2])};
  return functions[static_cast<std::size_t>(&generator - generators.data())];
}

// The hash function of Arash Partow (AP), with even and odd characters mixed in turn.
std::int32_t hash_of(std::string_view text) {
  std::uint32_t hash = 0xAAAAAAAA;
  for (std::size_t k = 0; k < text.size(); ++k) {
    const std::uint32_t c = static_cast<unsigned char>(text[k]);
    hash ^= k % 2 == 0 ? (hash << 7) ^ (c * (hash >> 3)) : ~((hash << 11) + (c ^ (hash >> 5)));
  }
  return std::bit_cast<std::int32_t>(hash);
}

}  // namespace saltus::modelica
