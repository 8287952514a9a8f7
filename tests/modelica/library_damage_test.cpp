// Folders of packages that are damaged at random: a class is read with its right value, or refused with a text.
#include <gtest/gtest.h>
#include <unistd.h>
#include <saltus/base/error.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "effort.hpp"
#include "modelica/load_helpers.hpp"

namespace saltus {
namespace {

namespace fs = std::filesystem;

/// A library of nested packages whose model L.M has y = 42: L.A.B.k + L.C.f(1) with k = 40 and f(u) = 2u.
class DamagedLibrary {
 public:
  explicit DamagedLibrary(unsigned seed) : random_(seed) {
    root_ = fs::temp_directory_path() / ("saltus-damage-" + std::to_string(getpid()));
    fs::remove_all(root_);
    write("L/package.mo", "within ;\npackage L\nend L;\n");
    write("L/M.mo", "within L;\nmodel M\n  extends Base;\nequation\n  y = A.B.k + C.f(1);\nend M;\n");
    write("L/Base.mo", "within L;\npartial model Base\n  Real y;\nend Base;\n");
    write("L/A/package.mo", "within L;\npackage A\nend A;\n");
    write("L/A/B/package.mo", "within L.A;\npackage B\n  extends L.D;\n  constant Real k = 4*ten;\nend B;\n");
    write("L/C.mo",
          "within L;\npackage C\n  function f\n    input Real u;\n    output Real y;\n"
          "  algorithm\n    y := 2*u;\n  end f;\nend C;\n");
    write("L/D.mo", "within L;\npackage D\n  constant Real ten = 10;\nend D;\n");
  }
  ~DamagedLibrary() { fs::remove_all(root_); }
  DamagedLibrary(const DamagedLibrary&) = delete;
  DamagedLibrary& operator=(const DamagedLibrary&) = delete;

  std::string path() const { return root_.string(); }

  /// Damages one file or folder, in one of ten ways, and returns a sentence that says how.
  std::string damage() {
    std::vector<fs::path> paths;
    for (const auto& entry : fs::recursive_directory_iterator(root_)) paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    if (paths.empty()) return "nothing is left";
    const fs::path victim = paths[random_() % paths.size()], other = paths[random_() % paths.size()];
    const bool file = fs::is_regular_file(fs::symlink_status(victim));
    const auto kind = random_() % 10;
    const std::string name = victim.lexically_relative(root_).string() + ": ";
    std::error_code ignored;
    switch (kind) {
      case 0:
        fs::remove_all(victim);
        return name + "removed";
      case 1:
        fs::remove_all(victim);
        fs::create_directory(victim, ignored);
        return name + "an empty folder";
      case 2:
        return replace_by_link(victim, other) ? name + "a link to " + other.string() : name + "kept";
      case 3:
        return replace_by_link(victim, victim.parent_path()) ? name + "a link to its folder" : name + "kept";
      case 4:
        return replace_by_link(victim, victim) ? name + "a link to itself" : name + "kept";
      case 5:
        fs::rename(victim, victim.parent_path() / "X.mo", ignored);
        return name + "renamed";
      default:
        break;
    }
    if (!file) return name + "kept";
    std::string text = content(victim);
    switch (kind) {
      case 6:
        text.resize(random_() % (text.size() + 1));
        break;
      case 7:
        text = text.substr(text.find('\n') + 1);
        break;  // without its 'within', or without a line
      case 8:
        text = content(other);
        break;
      default:
        for (int k = 0; k < 3 && !text.empty(); ++k) text[random_() % text.size()] = static_cast<char>(random_() % 256);
    }
    std::ofstream(victim, std::ios::binary) << text;
    return name + "another text";
  }

 private:
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }
  static std::string content(const fs::path& path) {
    std::error_code ignored;
    if (!fs::is_regular_file(path, ignored)) return {};
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  static bool replace_by_link(const fs::path& victim, const fs::path& goal) {
    fs::remove_all(victim);
    std::error_code error;
    fs::create_directories(victim.parent_path(), error);
    fs::create_symlink(goal, victim, error);
    return !error;
  }

  std::mt19937 random_;
  fs::path root_;
};

TEST(DamagedLibraries, AreReadOrRefusedWithAText) {
  const auto libraries = static_cast<unsigned>(test_cases(200));
  unsigned read = 0, refused = 0;
  for (unsigned seed = 0; seed < libraries; ++seed) {
    DamagedLibrary library(seed);
    std::string how;
    for (unsigned k = 0; k < seed % 4; ++k) how += library.damage() + "\n";
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + how);
    try {
      const ModelicaModel loaded = load_modelica_class("L.M", {.libraries = {library.path()}});
      // What is left of the text may have another value; a model without damage has this one.
      if (how.empty()) {
        EXPECT_EQ(run(loaded.model, 1.0).at(1.0, "y"), 42.0);
      }
      ++read;
    } catch (const ModelicaError& error) {
      EXPECT_TRUE(error.diagnostics().has_errors());
      ++refused;
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()), "");
      ++refused;
    }
  }
  EXPECT_GT(read, libraries / 4);  // every fourth is undamaged
  EXPECT_GT(refused, libraries / 6);
}

TEST(DamagedLibraries, PackagesThatNeedEachOtherInACircleAreRefused) {
  const fs::path root = fs::temp_directory_path() / ("saltus-circle-" + std::to_string(getpid()));
  fs::create_directories(root / "P");
  std::ofstream(root / "P/package.mo") << "within ;\npackage P\n  model M\n    Real y = A.k;\n  end M;\nend P;\n";
  std::ofstream(root / "P/A.mo") << "within P;\npackage A\n  extends B;\n  constant Real k = B.k + 1;\nend A;\n";
  std::ofstream(root / "P/B.mo") << "within P;\npackage B\n  extends A;\nend B;\n";
  EXPECT_THROW(load_modelica_class("P.M", {.libraries = {root.string()}}), ModelicaError);
  fs::remove_all(root);
}

}  // namespace
}  // namespace saltus
