#include "cli/bounded_run.hpp"

#include <utility>

namespace saltus::cli {

BoundedRun::BoundedRun(std::shared_ptr<const HybridSystem> system, Files files, double start, double stop,
                       std::ostream& standard)
    : system_(std::move(system)), files_(std::move(files)), start_(start), stop_(stop), standard_(standard) {}

void BoundedRun::go(Simulator& simulator, double most_bytes) {
  double kept = 0.0;
  while (simulator.step()) {
    kept += static_cast<double>(size_.new_steps(simulator.trajectory()));
    if (kept <= most_bytes) continue;
    give_back(simulator);
    kept = 0.0;
  }
  if (!rows_) return;
  give_back(simulator);
  end_files();
}

void BoundedRun::give_back(Simulator& simulator) {
  if (!rows_) begin_files();
  const auto add = [&](double t, std::span<const double> values) {
    if (csv_) csv_->add(t, values);
    if (!files_.table) return;
    table_.time.push_back(t);
    for (std::size_t k = 0; k < values.size(); ++k) table_.columns[k].values.push_back(values[k]);
  };
  if (csv_ || files_.table) rows_->read(simulator.trajectory(), add);
  simulator.forget_steps();
  size_ = {};
}

void BoundedRun::begin_files() {
  rows_.emplace(system_->observed(), files_.rows, start_, stop_);
  if (files_.csv.empty() && !files_.table) return;
  table_.columns.reserve(rows_->chosen().size());
  for (const int k : rows_->chosen()) {
    const VariableInfo& v = system_->observed()[static_cast<std::size_t>(k)];
    table_.columns.push_back({v.name, v.details, {}});
  }
  if (files_.csv.empty()) return;
  if (files_.csv != "-") file_.emplace(files_.csv);
  csv_.emplace(file_ ? file_->stream() : standard_, table_.columns, files_.header);
}

void BoundedRun::end_files() {
  if (file_) file_->commit();
}

}  // namespace saltus::cli
