// Libraries in folders: a folder with a file package.mo is a package, and the files and folders in it are its classes.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "modelica/flatten/scope.hpp"
#include "modelica/parser.hpp"

namespace saltus::modelica {

/// Finds classes by name in folders and reads their files when they are named for the first time. The small package
/// Modelica that comes with Saltus is there when no folder has another one.
class Library final : public ClassLoader {
 public:
  /// Each of `folders` holds packages, or is one. Throws UsageError for a folder that does not exist.
  explicit Library(const std::vector<std::string>& folders);

  /// Throws ModelicaError if the file cannot be read, has errors, or does not hold what its place says.
  const ClassDefinition* load(const ClassDefinition* package, std::string_view name) override;
  std::filesystem::path folder_of(const ClassDefinition& definition) const override;

  /// Takes a text that was read elsewhere; its file number must be `next_file()`.
  const Ast& adopt(ParseResult parsed);
  std::uint32_t next_file() const { return static_cast<std::uint32_t>(texts_.size()); }
  /// Finds the folders around a file that is a part of a stored package, as its name and its `within` say.
  void place(const StoredDefinition& text, const std::filesystem::path& file);

  /// Why the folders may hold no package of that name, and what to do; "" if the name is that of a package of theirs.
  std::string missing_package(std::string_view name) const;

  /// Names of the classes in a package, whether they have been read or not.
  std::vector<std::string> names(const ClassDefinition& package) const;

  /// All texts by file number.
  const std::vector<const SourceText*>& sources() const { return sources_; }
  /// The same, kept alive.
  std::vector<std::shared_ptr<const SourceText>> shared_sources() const;

 private:
  struct Folder {
    std::filesystem::path path;
    std::string name;  ///< of the package, with all enclosing ones
    std::unordered_set<std::string> entries;
    std::unordered_map<std::string, const ClassDefinition*> read;  ///< classes whose files have been read
  };
  void set_folder(const ClassDefinition* package, const std::filesystem::path& folder, const std::string& name);
  const ClassDefinition* load_from(const std::filesystem::path& root, const std::string& name);
  const ClassDefinition* load_top(const std::string& name);
  const ClassDefinition* read_package(const std::filesystem::path& folder, const std::string& within,
                                      const std::string& name);
  const ClassDefinition* read_file(const std::filesystem::path& path, const std::string& within,
                                   const std::string& name);

  std::vector<std::filesystem::path> roots_;
  std::vector<std::unique_ptr<ParseResult>> texts_;
  std::vector<const SourceText*> sources_;
  std::unordered_map<const ClassDefinition*, Folder> folders_;
  std::unordered_map<std::string, const ClassDefinition*> top_;  ///< null: there is none
  const ClassDefinition* small_ = nullptr;                       ///< the package Modelica of Saltus, where it is used
};

/// The text of a file. Throws UsageError if it cannot be read.
std::string read_text(const std::filesystem::path& path);

}  // namespace saltus::modelica
