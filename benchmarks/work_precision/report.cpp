#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "work_precision.hpp"

namespace saltus::bench {
namespace {

std::vector<std::string> names(const std::vector<Result>& results, const std::string Result::*member) {
  std::vector<std::string> list;
  for (const Result& r : results)
    if (std::find(list.begin(), list.end(), r.*member) == list.end()) list.push_back(r.*member);
  return list;
}

}  // namespace

double time_at_error(const std::vector<Result>& results, const std::string& problem, const std::string& solver,
                     double error) {
  // the least time that gave this error or a smaller one is the envelope; between its points logarithms are linear
  std::vector<std::pair<double, double>> points;  // (error, seconds)
  for (const Result& r : results)
    if (r.problem == problem && r.solver == solver && r.ok) points.emplace_back(std::max(r.error, 1e-17), r.seconds);
  std::sort(points.begin(), points.end());
  double least = std::numeric_limits<double>::infinity();
  for (auto& [e, seconds] : points) (void)e, seconds = least = std::min(least, seconds);
  const double none = std::numeric_limits<double>::quiet_NaN();
  if (points.empty() || error < points.front().first) return none;
  for (std::size_t k = 0; k + 1 < points.size(); ++k) {
    const auto &a = points[k], &b = points[k + 1];
    if (error > b.first) continue;
    if (b.first == a.first) return b.second;
    const double w = std::log(error / a.first) / std::log(b.first / a.first);
    return std::exp((1.0 - w) * std::log(a.second) + w * std::log(b.second));
  }
  return points.back().second;  // less accuracy than its loosest tolerance gives costs no less
}

void print_table(const std::vector<Result>& results) {
  const auto solvers = names(results, &Result::solver);
  std::map<std::string, bool> ours;
  for (const Result& r : results) ours[r.solver] = r.ours;
  fmt::print("\nTime of the best peer over the time of our best method, at equal error (above 1: we are faster)\n\n");
  fmt::print("| problem | error | ours | ms | best peer | ms | ratio | all peers |\n|---|---|---|---|---|---|---|---|\n");
  for (const std::string& problem : names(results, &Result::problem))
    for (int decade = 2; decade <= 11; ++decade) {
      const double error = std::pow(10.0, -decade);
      std::string own, peer, all;
      double own_time = std::numeric_limits<double>::infinity(), peer_time = own_time;
      for (const std::string& s : solvers) {
        const double seconds = time_at_error(results, problem, s, error);
        if (!(seconds > 0.0)) continue;
        double& best = ours[s] ? own_time : peer_time;
        if (seconds < best) best = seconds, (ours[s] ? own : peer) = s;
      }
      if (!std::isfinite(own_time)) continue;
      for (const std::string& s : solvers)
        if (const double seconds = time_at_error(results, problem, s, error); !ours[s] && seconds > 0.0)
          all += fmt::format("{}{} {:.2g}", all.empty() ? "" : ", ", s, seconds / own_time);
      const bool alone = !std::isfinite(peer_time);
      fmt::print("| {} | 1e-{} | {} | {:.3g} | {} | {} | {} | {} |\n", problem, decade, own, 1e3 * own_time,
                 alone ? "none" : peer, alone ? "" : fmt::format("{:.3g}", 1e3 * peer_time),
                 alone ? "" : fmt::format("{:.2g}", peer_time / own_time), all);
    }
}

void write_json(const std::vector<Result>& results, const std::string& file) {
  auto list = nlohmann::json::array();
  for (const Result& r : results)
    list.push_back({{"problem", r.problem},
                    {"solver", r.solver},
                    {"ours", r.ours},
                    {"ok", r.ok},
                    {"tolerance", r.tolerance},
                    {"error", r.error},
                    {"seconds", r.seconds},
                    {"steps", r.steps},
                    {"evaluations", r.evaluations},
                    {"message", r.message}});
  std::ofstream(file) << list.dump(1) << "\n";
}

void write_plots(const std::vector<Result>& results, const std::string& folder) {
  std::filesystem::create_directories(folder);
  std::ofstream script(folder + "/plot.gp");
  script << "set terminal svg size 800,600\nset logscale xy\nset format '10^{%L}'\nset xlabel 'error at the end'\n"
            "set ylabel 'seconds (CPU)'\nset key outside\nset grid\n";
  for (const std::string& problem : names(results, &Result::problem)) {
    std::string file = problem;
    std::replace(file.begin(), file.end(), ' ', '_');
    script << "set output '" << file << ".svg'\nset title '" << problem << "'\nplot ";
    bool first = true;
    for (const std::string& solver : names(results, &Result::solver)) {
      std::string data = file + "-" + solver + ".dat";
      std::replace(data.begin(), data.end(), ' ', '_');
      std::ofstream out(folder + "/" + data);
      bool any = false;
      for (const Result& r : results)
        if (r.problem == problem && r.solver == solver && r.ok) any = true, out << r.error << " " << r.seconds << "\n";
      if (!any) continue;
      script << (first ? "" : ", ") << "'" << data << "' with linespoints title '" << solver << "'";
      first = false;
    }
    script << (first ? "NaN\n" : "\n");
  }
  script.close();
  const std::string command = "cd '" + folder + "' && gnuplot plot.gp";
  if (std::system(command.c_str()) != 0) fmt::print("gnuplot is missing or failed; the data and plot.gp are in {}\n", folder);
}

}  // namespace saltus::bench
