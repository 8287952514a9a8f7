# A formula for Homebrew. It was written where Homebrew does not run, and has not been tried.
#
# It takes an archive of the sources that lies beside it:
#   git archive --prefix=saltus/ --output packaging/homebrew/saltus.tar.gz HEAD
#   brew install --build-from-source packaging/homebrew/saltus.rb
# Whoever publishes a release replaces `url` by the place of its archive and adds its sha256.
class Saltus < Formula
  desc "Solver for switched differential-algebraic equations"
  url "file://#{__dir__}/saltus.tar.gz"
  version "0.1.0"
  license "BSD-3-Clause"

  depends_on "cli11" => :build
  depends_on "cmake" => :build
  depends_on "eigen" => :build
  depends_on "ninja" => :build
  depends_on "nlohmann-json" => :build
  depends_on "fmt"
  depends_on "pugixml"
  depends_on "suite-sparse"
  depends_on "superlu"

  uses_from_macos "zlib"

  def install
    # SLEEF gives the same bits on all machines; this formula takes the functions of the C library.
    system "cmake", "-S", ".", "-B", "build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DSALTUS_UNITY=ON",
           "-DSALTUS_BUILD_TESTS=OFF", "-DSALTUS_WERROR=OFF", "-DSALTUS_SLEEF=OFF", *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
  end

  test do
    (testpath/"Ball.mo").write <<~MODEL
      model Ball
        Real h(start = 1, fixed = true), v(start = 0, fixed = true);
      equation
        der(h) = v;
        der(v) = -9.81;
        when h < 0 then
          reinit(v, -0.5*pre(v));
        end when;
        annotation(experiment(StopTime = 1));
      end Ball;
    MODEL
    assert_match "success at t = 1", shell_output("#{bin}/saltus run Ball.mo --no-plot")
    assert_match version.to_s, shell_output("#{bin}/saltus --version")
  end
end
