#include "modelica/library.hpp"

#include <saltus/base/error.hpp>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>

#include "modelica/flatten/prelude.hpp"
#include "modelica/printer.hpp"

namespace saltus::modelica {

namespace fs = std::filesystem;

namespace {

// Only such names are names of files; a quoted name could lead anywhere.
bool is_file_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(),
                                      [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; });
}

bool is_package(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder / "package.mo", ignored);
}

// "Modelica 4.0.0" holds the package Modelica.
std::string package_name(const fs::path& folder) {
  const std::string name = folder.filename().string();
  return name.substr(0, name.find(' '));
}

// "P 9.1" comes before "P 10.0": numbers in names are compared as numbers.
bool is_older(const std::string& a, const std::string& b) {
  const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (!digit(a[i]) || !digit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
      continue;
    }
    const auto number = [&](const std::string& text, std::size_t& at) {
      while (at < text.size() && text[at] == '0') ++at;
      const std::size_t begin = at;
      while (at < text.size() && digit(text[at])) ++at;
      return text.substr(begin, at - begin);
    };
    const std::string x = number(a, i), y = number(b, j);
    if (x.size() != y.size()) return x.size() < y.size();
    if (x != y) return x < y;
  }
  return a.size() - i < b.size() - j;
}

std::vector<fs::path> listing(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    paths.push_back(it->path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

std::string read_text(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) throw UsageError("'" + path.string() + "' is a folder, not a file");
  std::ifstream file(path, std::ios::binary);
  if (!file) throw UsageError("the file '" + path.string() + "' cannot be opened");
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) throw UsageError("the file '" + path.string() + "' cannot be read");
  return text;
}

Library::Library(const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    std::error_code error;
    if (!fs::is_directory(folder, error))
      throw UsageError("the library folder '" + folder +
                       "' does not exist; name the folder that holds packages, or one with a file package.mo");
    fs::path path(folder);
    if (!path.has_filename()) path = path.parent_path();  // "DIR/"
    roots_.push_back(std::move(path));
  }
}

const Ast& Library::adopt(ParseResult parsed) {
  texts_.push_back(std::make_unique<ParseResult>(std::move(parsed)));
  sources_.push_back(&texts_.back()->ast.source());
  return texts_.back()->ast;
}

std::vector<std::shared_ptr<const SourceText>> Library::shared_sources() const {
  std::vector<std::shared_ptr<const SourceText>> result;
  for (const auto& text : texts_) result.push_back(text->ast.shared_source());
  return result;
}

void Library::set_folder(const ClassDefinition* package, const fs::path& folder, const std::string& name) {
  Folder entry{folder, name, {}, {}};
  for (const fs::path& path : listing(folder)) entry.entries.insert(path.filename().string());
  folders_.emplace(package, std::move(entry));
}

void Library::place(const StoredDefinition& text, const fs::path& file) {
  const bool holds_package = file.filename() == "package.mo" && text.classes.size() == 1;
  if (text.within.empty() && !holds_package) return;
  std::error_code error;
  fs::path folder = fs::absolute(file, error).lexically_normal().parent_path();
  const fs::path own = folder;
  if (holds_package) folder = folder.parent_path();
  for (std::size_t k = text.within.parts.size(); k-- > 0; folder = folder.parent_path())
    if (!is_package(folder) || package_name(folder) != text.within.parts[k].text) return;
  roots_.insert(roots_.begin(), folder);
  if (!holds_package) return;
  const std::string name(text.classes.front()->name.text);
  set_folder(text.classes.front(), own, text.within.empty() ? name : print(text.within) + "." + name);
}

const ClassDefinition* Library::load(const ClassDefinition* package, std::string_view name) {
  if (!is_file_name(name)) return nullptr;
  const std::string text(name);
  if (!package) {
    const auto [it, fresh] = top_.try_emplace(text, nullptr);
    if (fresh) {
      const ClassDefinition* found = load_top(text);
      top_[text] = found;
      return found;
    }
    return it->second;
  }
  const auto it = folders_.find(package);
  if (it == folders_.end() || text == "package") return nullptr;
  Folder& folder = it->second;
  if (const auto known = folder.read.find(text); known != folder.read.end()) return known->second;
  const ClassDefinition* found = nullptr;
  if (folder.entries.contains(text) && is_package(folder.path / text))
    found = read_package(folder.path / text, folder.name, text);
  else if (folder.entries.contains(text + ".mo"))
    found = read_file(folder.path / (text + ".mo"), folder.name, text);
  return folder.read[text] = found;
}

fs::path Library::folder_of(const ClassDefinition& definition) const {
  if (const auto it = folders_.find(&definition); it != folders_.end()) return it->second.path;
  return fs::path(sources_[definition.name.where.file]->file_name()).parent_path();
}

const ClassDefinition* Library::load_from(const fs::path& root, const std::string& name) {
  if (is_package(root) && package_name(root) == name) return read_package(root, "", name);
  if (is_package(root / name)) return read_package(root / name, "", name);
  std::error_code ignored;
  if (fs::is_regular_file(root / (name + ".mo"), ignored)) return read_file(root / (name + ".mo"), "", name);
  fs::path last;  // of several versions
  for (const fs::path& path : listing(root)) {
    const std::string folder = path.filename().string();
    if (folder.starts_with(name + " ") && is_package(path) && (last.empty() || is_older(last.filename(), folder)))
      last = path;
  }
  return last.empty() ? nullptr : read_package(last, "", name);
}

const ClassDefinition* Library::load_top(const std::string& name) {
  if (!is_predefined(name)) {
    for (const fs::path& root : roots_)
      if (const ClassDefinition* found = load_from(root, name)) return found;
    std::error_code ignored;
    for (const fs::path& root : roots_)  // beside a package that was named itself
      if (is_package(root))
        if (const ClassDefinition* found = load_from(fs::absolute(root, ignored).parent_path(), name)) return found;
  }
  if (is_predefined(name)) {
    const Ast& ast = adopt(parse(predefined(), "Modelica", next_file()));
    for (const ClassDefinition* definition : ast.root.classes) top_[std::string(definition->name.text)] = definition;
    return top_.at(name);
  }
  if (name != "Modelica") return nullptr;
  return small_ = adopt(parse(prelude(), "Modelica", next_file())).root.classes.front();
}

std::vector<std::string> Library::names(const ClassDefinition& package) const {
  std::vector<std::string> result;
  if (const auto* body = package.as<LongClass>())
    for (const Element& element : body->elements)
      if (const auto* inner = element.as<const ClassDefinition*>()) result.emplace_back((*inner)->name.text);
  const auto it = folders_.find(&package);
  if (it == folders_.end()) return result;
  for (const std::string& entry : it->second.entries) {
    const fs::path file = entry;
    if (is_package(it->second.path / file)) result.push_back(entry);
    if (file.extension() == ".mo" && entry != "package.mo") result.push_back(file.stem().string());
  }
  std::ranges::sort(result);
  return result;
}

std::string Library::missing_package(std::string_view name) const {
  if (const auto it = top_.find(std::string(name)); it != top_.end() && it->second && it->second != small_) return {};
  const std::string quoted = "'" + std::string(name) + "'";
  const auto is_folder = [](const fs::path& path) {
    std::error_code ignored;
    return fs::is_directory(path, ignored);
  };
  std::error_code ignored;
  for (const fs::path& root : roots_) {
    const fs::path whole = fs::absolute(root, ignored).lexically_normal();
    for (const fs::path& folder : {whole, whole / name})
      if (package_name(folder) == name && is_folder(folder) && !is_package(folder))
        return "the folder '" + folder.string() + "' has no file package.mo; a package needs one";
    for (fs::path folder = whole.parent_path(); folder.has_relative_path(); folder = folder.parent_path())
      if (package_name(folder) == name && is_package(folder))
        return "the folder '" + whole.string() + "' lies inside of the package " + quoted + "; write --library " +
               folder.parent_path().string();
    for (const fs::path& folder : listing(whole))
      if (is_file_name(name) && is_package(folder / name))
        return "the package " + quoted + " lies one folder deeper; write --library " + folder.string();
  }
  if (roots_.empty()) return "name the folder that holds the package " + quoted + " with --library";
  std::string all;
  for (const fs::path& root : roots_) all += (all.empty() ? "'" : ", '") + root.string() + "'";
  return "there is no package " + quoted + " in " + all + "; name the folder that holds it with --library";
}

const ClassDefinition* Library::read_package(const fs::path& folder, const std::string& within,
                                             const std::string& name) {
  const ClassDefinition* definition = read_file(folder / "package.mo", within, name);
  set_folder(definition, folder, within.empty() ? name : within + "." + name);
  return definition;
}

const ClassDefinition* Library::read_file(const fs::path& path, const std::string& within, const std::string& name) {
  const Ast& ast = adopt(parse(read_text(path), path.string(), next_file()));
  texts_.back()->require();
  const auto refuse = [&](const Location& where, std::string message, std::string hint) {
    Diagnostics diagnostics;
    diagnostics.add(ast.source().diagnose(Severity::error, where, std::move(message), std::move(hint)));
    throw ModelicaError(std::move(diagnostics));
  };
  const StoredDefinition& root = ast.root;
  const Location top{0, 0, ast.source().file()};
  if (root.classes.size() != 1)
    refuse(root.classes.empty() ? top : root.classes[1]->name.where,
           "a file of a library must hold one class, '" + name + "'", "put other classes into files of their own");
  const ClassDefinition* definition = root.classes.front();
  if (definition->name.text != name)
    refuse(definition->name.where, "this file must hold the class '" + name + "', as its name says",
           "rename the file or the class");
  if (root.has_within && print(root.within) != within)
    refuse(root.within.empty() ? top : root.within.where,
           "this file lies in " + (within.empty() ? "no package" : "the package '" + within + "'") +
               ", but its 'within' says something else",
           "write 'within " + within + ";'");
  return definition;
}

}  // namespace saltus::modelica
