// From text to tokens.
#pragma once

#include "token.hpp"

#include <saltus/modelica/diagnostic.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace saltus::modelica {

/// All tokens of a text, in linear time; the last one is `end_of_file`. Whatever is not Modelica is diagnosed and
/// becomes the token that was probably meant (`!=` becomes `<>`) or a `bad` token, so that the parser can go on.
std::vector<Token> tokenize(const SourceText& source, Diagnostics& diagnostics);

/// True if a text is Base Modelica: it begins with "//! base" and a version.
bool is_base_modelica(std::string_view text);

/// The value of a string token: without the quotes, escapes replaced by what they stand for.
std::string decode_string(std::string_view token_text);

/// `text` as a string literal of Modelica, with quotes and escapes.
std::string encode_string(std::string_view text);

}  // namespace saltus::modelica
