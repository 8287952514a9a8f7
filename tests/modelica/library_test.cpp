// Libraries stored in folders: packages, files, versions, broken and hostile folders.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "modelica/library.hpp"
#include "modelica/load_helpers.hpp"

namespace saltus {
namespace {

namespace fs = std::filesystem;

/// A folder for one test, removed at its end.
class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("saltus-library-" + std::to_string(getpid()))) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
  }
  std::string path(const std::string& name = "") const {
    return name.empty() ? path_.string() : (path_ / name).string();
  }

 private:
  fs::path path_;
};

void write_library(const Folder& folder) {
  folder.write("Lib/package.mo",
               "within ;\npackage Lib\n  constant Real k = 3;\n  model Own\n    Real y = k;\n  end Own;\nend Lib;\n");
  folder.write("Lib/package.order", "Own\nParts\nk\nOne\n");
  folder.write("Lib/One.mo",
               "within Lib;\nmodel One\n  extends Parts.Base(gain = 2*k);\nequation\n  y = gain*time;\nend One;\n");
  folder.write("Lib/Parts/package.mo", "within Lib;\npackage Parts\n  extends Icons.Folder;\nend Parts;\n");
  folder.write("Lib/Parts/Base.mo",
               "within Lib.Parts;\npartial model Base\n  parameter Real gain = 1;\n  Real y;\nend Base;\n");
  folder.write("Lib/Icons.mo", "within Lib;\npackage Icons\n  partial package Folder\n  end Folder;\nend Icons;\n");
  folder.write("Lib/Broken.mo", "within Lib;\nmodel Broken\n  Real x = ;\nend Broken;\n");
}

double end_of(const ModelicaModel& m, const std::string& name) {
  return run(m.model, 1.0).at(1.0, name);
}

std::string class_errors(const std::string& name, const LoadOptions& options) {
  try {
    load_modelica_class(name, options);
  } catch (const ModelicaError& error) {
    return error.what();
  }
  return {};
}

TEST(Libraries, ClassesAreFoundInFoldersAndFiles) {
  const Folder folder;
  write_library(folder);
  const LoadOptions options{.libraries = {folder.path()}};
  EXPECT_NEAR(end_of(load_modelica_class("Lib.One", options), "y"), 6.0, 1e-12);
  EXPECT_NEAR(end_of(load_modelica_class("Lib.Own", options), "y"), 3.0, 1e-12);
  EXPECT_NEAR(
      end_of(
          load_text("model M\n  Lib.One one(gain = 10);\n  Lib.Own own;\n  Real s = one.y + own.y;\nend M;\n", options),
          "s"),
      13.0, 1e-12);
  // the folder of the package itself may be named, too
  EXPECT_NEAR(end_of(load_modelica_class("Lib.One", {.libraries = {folder.path("Lib")}}), "y"), 6.0, 1e-12);
}

TEST(Libraries, AFileThatIsNotNamedIsNotRead) {
  const Folder folder;
  write_library(folder);
  const LoadOptions options{.libraries = {folder.path()}};
  EXPECT_EQ(class_errors("Lib.One", options), "");
  EXPECT_EQ(class_errors("Lib.Broken", options).find(folder.path("Lib/Broken.mo") + ":3:"), 0u);
  EXPECT_NE(load_errors("model M\n  Lib.Broken b;\nend M;\n", options).find("Broken.mo:3:"), std::string::npos);
}

TEST(Libraries, ErrorsNameTheFileOfTheLibrary) {
  const Folder folder;
  write_library(folder);
  folder.write("Lib/Wrong.mo", "within Lib;\nmodel Wrong\n  Real x;\nequation\n  x = missing;\nend Wrong;\n");
  const std::string text = load_errors("model M\n  Lib.Wrong w;\nend M;\n", {.libraries = {folder.path()}});
  EXPECT_EQ(text, folder.path("Lib/Wrong.mo") +
                      ":5:7: error: 'missing' is not declared\n    x = missing;\n        ^~~~~~~\n"
                      "hint: declare it, for example: Real missing;\n");
}

TEST(Libraries, AFileInsideOfAPackageFindsItsLibrary) {
  const Folder folder;
  write_library(folder);
  EXPECT_NEAR(end_of(load_modelica_file(folder.path("Lib/One.mo")), "y"), 6.0, 1e-12);
  EXPECT_NEAR(end_of(load_modelica_file(folder.path("Lib/package.mo")), "y"), 3.0, 1e-12);
  EXPECT_NEAR(end_of(load_modelica_file(folder.path("Lib/package.mo"), {.model_name = "Lib.One"}), "y"), 6.0, 1e-12);
  EXPECT_NEAR(end_of(load_modelica_file(folder.path("Lib/One.mo"), {.model_name = "One"}), "y"), 6.0, 1e-12);
}

TEST(Libraries, AnUnknownPackageOfWithinIsAWarning) {
  const auto m = load_text("within Nowhere.Lib;\nmodel M\n  Real x = 1;\nend M;\n");
  ASSERT_EQ(m.notes.size(), 1u);
  EXPECT_NE(m.notes[0].message.find("there is no package 'Nowhere.Lib'"), std::string::npos);
}

TEST(Libraries, TheFirstFolderWinsAndVersionsAreFound) {
  const Folder folder;
  folder.write("a/P.mo", "package P\n  model M\n    Real y = 1;\n  end M;\nend P;\n");
  folder.write("b/P/package.mo", "package P\n  model M\n    Real y = 2;\n  end M;\nend P;\n");
  folder.write("c/P 1.0/package.mo", "package P\n  model M\n    Real y = 3;\n  end M;\nend P;\n");
  folder.write("c/P 2.0/package.mo", "package P\n  model M\n    Real y = 4;\n  end M;\nend P;\n");
  EXPECT_EQ(end_of(load_modelica_class("P.M", {.libraries = {folder.path("a"), folder.path("b")}}), "y"), 1.0);
  EXPECT_EQ(end_of(load_modelica_class("P.M", {.libraries = {folder.path("b"), folder.path("a")}}), "y"), 2.0);
  EXPECT_EQ(end_of(load_modelica_class("P.M", {.libraries = {folder.path("c")}}), "y"), 4.0);
  EXPECT_EQ(end_of(load_modelica_class("P.M", {.libraries = {folder.path("c/P 1.0")}}), "y"), 3.0);
  folder.write("c/P 10.0/package.mo", "package P\n  model M\n    Real y = 5;\n  end M;\nend P;\n");
  EXPECT_EQ(end_of(load_modelica_class("P.M", {.libraries = {folder.path("c")}}), "y"), 5.0);
  folder.write("c/P 10.0.1/package.mo", "package P\n  model M\n    Real y = 6;\n  end M;\nend P;\n");
  EXPECT_EQ(end_of(load_modelica_class("P.M", {.libraries = {folder.path("c")}}), "y"), 6.0);
}

TEST(Libraries, WhereAPackageIsNotFoundAHintSaysWhy) {
  const Folder folder;
  write_library(folder);
  const auto hint = [&](const std::string& library, const std::string& name = "Lib.Parts.Missing") {
    const std::string text = class_errors(name, {.libraries = {folder.path(library)}});
    EXPECT_NE(text.find("there is no model '" + name + "'"), std::string::npos) << text;
    const std::size_t place = text.find("hint: ");
    return place == std::string::npos ? text : text.substr(place + 6, text.find('\n', place) - place - 6);
  };
  EXPECT_EQ(hint(""), "'Lib.Parts' has no class 'Missing'");
  EXPECT_EQ(hint("", "Lib.Nothing.Missing"), "'Lib' has no class 'Nothing'");
  EXPECT_EQ(hint("", "Lib.Part.Missing"), "'Lib' has no class 'Part'; did you mean 'Parts'?");
  EXPECT_EQ(hint("Lib"), "'Lib.Parts' has no class 'Missing'");
  EXPECT_EQ(hint("Lib/Parts"), "'Lib.Parts' has no class 'Missing'");  // one folder too deep
  folder.write("Lib/Parts/More/package.mo", "within Lib.Parts;\npackage More\nend More;\n");
  EXPECT_EQ(hint("Lib/Parts/More"), "the folder '" + folder.path("Lib/Parts/More") +
                                        "' lies inside of the package 'Lib'; write --library " + folder.path());
  EXPECT_EQ(hint("", "Other.M"),
            "there is no package 'Other' in '" + folder.path() + "'; name the folder that holds it with --library");
  // the small package Modelica of Saltus is no library
  EXPECT_EQ(hint("", "Modelica.Mechanics.M"),
            "there is no package 'Modelica' in '" + folder.path() + "'; name the folder that holds it with --library");
  folder.write("deep/In/package.mo", "package In\nend In;\n");
  EXPECT_EQ(hint("", "In.M"), "the package 'In' lies one folder deeper; write --library " + folder.path("deep"));
  folder.write("Half/One.mo", "within Half;\nmodel One\nend One;\n");
  const std::string half = "the folder '" + folder.path("Half") + "' has no file package.mo; a package needs one";
  EXPECT_EQ(hint("", "Half.One"), half);
  EXPECT_EQ(hint("Half", "Half.One"), half);
  EXPECT_NE(class_errors("Lib.M", {}).find("hint: name the folder that holds the package 'Lib' with --library"),
            std::string::npos);
}

TEST(Libraries, PackagesBesideTheOneThatIsNamedAreFound) {
  const Folder folder;
  folder.write("A/package.mo", "package A\n  model M\n    Real y = B.k;\n  end M;\nend A;\n");
  folder.write("B/package.mo", "package B\n  constant Real k = 4;\nend B;\n");
  EXPECT_EQ(end_of(load_modelica_class("A.M", {.libraries = {folder.path("A")}}), "y"), 4.0);
  EXPECT_EQ(end_of(load_modelica_class("A.M", {.libraries = {folder.path("A/")}}), "y"), 4.0);
}

TEST(Libraries, AnotherVersionThanTheOneThatAFileUsesIsTold) {
  const Folder folder;
  folder.write("P.mo",
               "package P\n  model A\n    Real y = 1;\n  end A;\n  annotation(version = \"2.1\", "
               "conversion(noneFromVersion = \"2.0\"));\nend P;\n");
  const auto notes = [&](const std::string& version) {
    std::string all;
    for (const auto& note :
         load_text("model M\n  P.A a;\n  annotation(uses(P(version = \"" + version + "\")));\nend M;\n",
                   {.libraries = {folder.path()}})
             .notes)
      all += render(note);
    return all;
  };
  EXPECT_EQ(notes("2.1"), "");
  EXPECT_EQ(notes("2.0"), "");
  EXPECT_NE(notes("1.0").find("test.mo:3:19: warning: version 1.0 of 'P' is asked for, but version 2.1 is there"),
            std::string::npos)
      << notes("1.0");
  EXPECT_EQ(load_errors("model M\n  Real y = 1;\n  annotation(uses(Q(version = \"1\")));\nend M;\n").find("Q"),
            std::string::npos);
}

TEST(Libraries, AnotherVersionThanTheOneThatAPackageUsesIsToldWhereItIsNeeded) {
  const Folder folder;
  folder.write("P.mo", "package P\n  type T = Real;\n  annotation(version = \"2.0\");\nend P;\n");
  folder.write("Q/package.mo", "package Q\n  annotation(uses(P(version = \"1.0\")));\nend Q;\n");
  folder.write("Q/A.mo", "within Q;\nmodel A\n  P.T y = 1;\nend A;\n");
  folder.write("Q/B.mo", "within Q;\nmodel B\n  Real y = 1;\nend B;\n");
  const LoadOptions options{.libraries = {folder.path()}};
  const auto notes = load_modelica_class("Q.A", options).notes;
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(render(notes[0]).find("package.mo:2:19: warning: version 1.0 of 'P' is asked for, but version 2.0 is"),
            std::string::npos)
      << render(notes[0]);
  EXPECT_EQ(load_modelica_file(folder.path("Q/A.mo"), options).notes.size(), 1u);
  EXPECT_TRUE(load_modelica_class("Q.B", options).notes.empty());
}

TEST(Libraries, ALibraryModelicaReplacesTheSmallOne) {
  const Folder folder;
  folder.write("Modelica/package.mo",
               "package Modelica\n  package Constants\n    constant Real pi = 3;\n  end Constants;\nend Modelica;\n");
  const std::string text = "model M\n  Real y = Modelica.Constants.pi;\nend M;\n";
  EXPECT_EQ(end_of(load_text(text, {.libraries = {folder.path()}}), "y"), 3.0);
  EXPECT_NEAR(end_of(load_text(text), "y"), 3.14159265358979, 1e-12);
}

TEST(Libraries, WhatAFileHoldsMustFitItsPlace) {
  const Folder folder;
  folder.write("P/package.mo", "within ;\npackage P\nend P;\n");
  folder.write("P/A.mo", "within P;\nmodel B\nend B;\n");
  folder.write("P/C.mo", "within Q;\nmodel C\nend C;\n");
  folder.write("P/D.mo", "within P;\nmodel D\nend D;\nmodel E\nend E;\n");
  folder.write("P/F.mo", "");
  const LoadOptions options{.libraries = {folder.path()}};
  EXPECT_NE(class_errors("P.A", options).find("this file must hold the class 'A'"), std::string::npos);
  EXPECT_NE(
      class_errors("P.C", options).find("this file lies in the package 'P', but its 'within' says something else"),
      std::string::npos);
  EXPECT_NE(class_errors("P.D", options).find("a file of a library must hold one class, 'D'"), std::string::npos);
  EXPECT_NE(class_errors("P.F", options).find("a file of a library must hold one class, 'F'"), std::string::npos);
  EXPECT_NE(class_errors("P.G", options).find("there is no model 'P.G'"), std::string::npos);
  EXPECT_NE(class_errors("P", options).find("'P' is a package, not a model"), std::string::npos);
  EXPECT_THROW(load_modelica_class("P.A", {.libraries = {folder.path("nothing")}}), UsageError);
  EXPECT_THROW(load_modelica_class("", options), UsageError);
}

TEST(Libraries, AFileIsReadOnce) {
  const Folder folder;
  write_library(folder);
  modelica::Library library({folder.path()});
  const modelica::ClassDefinition* package = library.load(nullptr, "Lib");
  const modelica::ClassDefinition *one = library.load(package, "One"), *parts = library.load(package, "Parts");
  const std::uint32_t files = library.next_file();
  EXPECT_EQ(files, 3u);
  EXPECT_EQ(library.load(package, "One"), one);
  EXPECT_EQ(library.load(package, "Parts"), parts);
  EXPECT_EQ(library.load(package, "None"), nullptr);
  EXPECT_EQ(library.next_file(), files);
}

TEST(Libraries, UnitsAreCheckedInTheFileThatIsRunOnly) {
  const Folder folder;
  folder.write("P/package.mo", "within ;\npackage P\nend P;\n");
  folder.write("P/M.mo",
               "within P;\nmodel M\n  Real v(unit = \"m/s\");\n  Real f(unit = \"N\") = 2;\nequation\n"
               "  v + f = 3;\nend M;\n");
  const LoadOptions options{.libraries = {folder.path()}};
  EXPECT_TRUE(load_modelica_class("P.M", options).notes.empty());
  EXPECT_TRUE(load_text("model User\n  P.M m;\nend User;\n", options).notes.empty());
  EXPECT_EQ(load_modelica_file(folder.path("P/M.mo")).notes.size(), 1u);
}

TEST(Libraries, LinksInCirclesAndFoldersInPlaceOfFilesEnd) {
  const Folder folder;
  folder.write("P/package.mo", "within ;\npackage P\n  model M\n    Real y = Q.R.k;\n  end M;\nend P;\n");
  fs::create_directory_symlink(folder.path("P"), folder.path("P/Q"));
  fs::create_directory_symlink(folder.path("P"), folder.path("P/P"));
  fs::create_directories(folder.path("P/R.mo"));
  fs::create_symlink(folder.path("P/nowhere"), folder.path("P/S.mo"));
  const LoadOptions options{.libraries = {folder.path()}};
  EXPECT_NE(class_errors("P.M", options).find("this file must hold the class 'Q'"), std::string::npos);
  EXPECT_NE(class_errors("P.P.M", options), "");
  EXPECT_THROW(load_modelica_class("P.S", options), UsageError);
  EXPECT_THROW(load_modelica_class("P.R", options), UsageError);
}

TEST(Libraries, AHundredThousandClassesCostNothingUntilTheyAreNamed) {
  const Folder folder;
  folder.write("P/package.mo", "within ;\npackage P\nend P;\n");
  std::string many = "within P;\npackage Many\n";
  for (int k = 0; k < 100000; ++k) {
    const std::string name = "M" + std::to_string(k);
    many += "model " + name + "\n Real y = " + std::to_string(k) + ";\nend " + name + ";\n";
  }
  folder.write("P/Many.mo", many + "end Many;\n");
  const LoadOptions options{.libraries = {folder.path()}};
  EXPECT_EQ(end_of(load_modelica_class("P.Many.M99999", options), "y"), 99999.0);
}

}  // namespace
}  // namespace saltus
